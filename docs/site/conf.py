"""The documentation site: built offline, tutorials executed, figures and verdicts from the library itself."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from docstrings import marked_up, own_names
from formulas import linked, linked_guide
from gallery import write_gallery
from library import write_library

import solvable

project = "solvable"
author = "the solvable developers"
copyright = author
version = release = solvable.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "logo": {"text": "solvable"},
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "errata": [], "notation": []},
}
html_sidebars = {"errata": [], "notation": [], "gallery/*": []}  # their tables are wide
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True  # lines that are printed one after the other are one output
autodoc_typehints = "none"  # the sections of parameters say what they are
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # names that share a description share a line
napoleon_custom_sections = [("Attributes", "params_style")]  # as parameters look, and without links guessed from names
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing", "myst.header"]  # links of pages that are read in the repository too

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "_figures"
if FIGURES.is_dir():
    write_gallery(FIGURES, Path(__file__).parent)
write_library(solvable._ROOMS, Path(__file__).parent)


def _docstring(app, what, name, obj, options, lines):  # noqa: ARG001
    lines[:] = marked_up(lines, own_names(obj, name), room=name.split(".")[1])
    if what in ("property", "attribute", "data"):
        lines[:0] = ["..", ""]  # a comment, or napoleon takes the words before a colon in the first line for a type


def _signature(app, what, name, obj, options, signature, returns):  # noqa: ARG001
    """How to make an object is told only of classes that users make: not of results, protocols, or what the library builds."""
    if not signature:
        return None
    is_made = what != "class" or not ("Attributes\n" in (obj.__doc__ or "") or re.search(r"\b_\w|\*args", signature))
    return re.sub(r"<(?:function|factory) ?(\w*)[^>]*>", r"\1", signature) if is_made else "", returns


PAGES = {"CLUSTERS.md": "clusters.md", "docs/ERRATA.md": "errata.md", "ERRATA.md": "errata.md", "THEORY.md": "theory.md",
         "GUIDE.md": "guide.md", "NOTATION.md": "notation.md", "../NOTATION.md": "notation.md"}  # fmt: skip


def _links(app, path, name, source):  # noqa: ARG001
    """Links of pages that are read in the repository too: to the page here, or to nothing where it is a file of the repository."""

    def here(found):
        text, target = found[1], found[2]
        return (
            f"[{text}]({PAGES[target]})"
            if target in PAGES
            else f"`{text}`"
            if "/" in target and "://" not in target
            else found[0]
        )

    source[0] = re.sub(r"\[([^\]]+)\]\(([^)#]+)\)", here, source[0])
    if path.name == "THEORY.md":
        source[0] = linked(source[0])
    if path.name == "GUIDE.md":
        source[0] = linked_guide(source[0])
    if path.name == "ERRATA.md":
        source[0] = re.sub(r"^\| ([A-Z]\d+) \|", r'| <span id="\1">\1</span> |', source[0], flags=re.M)


def setup(app):
    app.connect("autodoc-process-docstring", _docstring, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", _signature)
    app.connect("include-read", _links)
