"""Check a built site: links, anchors and images are there, and no page loads anything from elsewhere.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page refers to, what it loads, and the anchors that it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if tag == "link" and given.get("rel") not in ("index", "search", "next", "prev", "author", "canonical"):
            self.loads.add(given.get("href", ""))
        if tag in ("img", "script", "iframe", "source", "video", "audio", "embed"):
            self.loads |= {given[name] for name in ("src", "data") if name in given}


def problems(site: Path) -> list[str]:
    """One sentence for each link that leads nowhere, and for each file that a page would load from elsewhere."""
    site = site.resolve()
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts}
    found = []
    for path, page in pages.items():
        here = path.relative_to(site)
        for link in sorted(page.links | page.loads):
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                if link in page.loads:
                    found.append(f"{here} loads {link} from elsewhere")
            elif parts.scheme in ("mailto", "data", "javascript"):
                continue
            else:
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                target = target / "index.html" if target.is_dir() else target
                if not target.exists():
                    found.append(f"{here} refers to {link}, which is not there")
                elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                    found.append(f"{here} refers to {link}, and that page has no such anchor")
    return found


if __name__ == "__main__":
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) or "all links, anchors and images are there")
    sys.exit(bool(found))
