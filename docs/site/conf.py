"""The documentation site: built offline, tutorials executed, figures and verdicts from the library itself."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from formulas import linked
from gallery import write_gallery

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
    "secondary_sidebar_items": {"**": ["page-toc"], "errata": [], "notation": []},
}
html_sidebars = {"errata": [], "notation": []}  # their tables are wide
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
autodoc_typehints = "none"  # the sections of parameters say what they are
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_default_options = {"exclude-members": "model_config"}
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing", "myst.header"]  # links of pages that are read in the repository too

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "_figures"
if FIGURES.is_dir():
    write_gallery(FIGURES, Path(__file__).parent)


def _plain(app, what, name, obj, options, lines):  # noqa: ARG001
    """Text of docstrings is plain: nothing in it but `names` is markup. Napoleon reads the sections after this."""
    is_example = False
    for i, line in enumerate(lines):
        is_example = bool(line.strip()) and (is_example or line.lstrip().startswith(">>> "))
        if is_example:
            continue
        text = (
            line.replace("\\", "\\\\")
            .replace("*", "\\*")
            .replace("|", "\\|")
            .replace("_ ", "\\_ ")
            .replace("_,", "\\_,")
        )
        lines[i] = text.replace("``", "`").replace("`", "``")


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


def setup(app):
    app.connect("autodoc-process-docstring", _plain, priority=400)  # before napoleon
    app.connect("include-read", _links)
