"""Every link of the built site to a file or a place of its own leads there: `python links.py docs/_build/html`."""

import re
import sys
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r'\b(?:href|src)="([^"]*)"')
PLACE = re.compile(r'\bid="([^"]*)"')
ELSEWHERE = re.compile(r"[a-z]+:|//")
UNRESOLVED = re.compile(r'(?<!">)<code class="xref[^>]*>(.*?)</code>')  # a link begins before it where there is one


def broken(site: Path) -> list[str]:
    """Page and link, for links without a file or a place in it and for names that should have become links."""
    found = []
    for page in sorted(site.rglob("*.html")):
        if "_static" in page.relative_to(site).parts or page.name == "py-modindex.html":
            continue
        text = re.sub(r"<script.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.S)
        links = [unescape(link) for link in LINK.findall(text)]
        wrong = [link for link in links if not ELSEWHERE.match(link) and not _leads(page, link)]
        wrong += [re.sub(r"<.*?>", "", name) for name in UNRESOLVED.findall(text)]
        found += [f"{page.relative_to(site)}: {link}" for link in wrong]
    return found


def _leads(page: Path, link: str) -> bool:
    path, _, place = link.partition("#")
    target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page.resolve()
    return target.exists() and (not place or target.suffix != ".html" or unquote(place) in _places(target))


@cache
def _places(page: Path) -> set[str]:
    return set(PLACE.findall(page.read_text(encoding="utf-8")))


if __name__ == "__main__":
    lines = broken(Path(sys.argv[1]))
    print("\n".join(lines) or "every link leads somewhere")
    sys.exit(bool(lines))
