"""Links to files beside docs/, such as CHANGELOG.md and gallery/, which the site shows as pages or not at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHOWN = {"CHANGELOG": "changelog", "CONTRIBUTING": "contributing"}
LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)?([A-Z_]+)\.md\)")
EXAMPLE = re.compile(r"\]\(\.\./gallery/([a-z_/]+)\.py\)")
INCLUDE = re.compile(r"```\{include\} \.\./([A-Z]+)\.md\n```\n")


def with_site_links(text: str) -> str:
    """The text with links to the pages that show a file; a file that no page shows is named without a link."""
    text = text.replace("](docs/", "](").replace("](../gallery/)", "](auto_examples/index)")
    text = EXAMPLE.sub(r"](auto_examples/\1)", text)
    return LINK.sub(lambda link: f"[{link[1]}]({SHOWN[link[2]]}.md)" if link[2] in SHOWN else link[1], text)


def read_source(app: Any, docname: str, source: list[str]) -> None:
    """Put the text of an included file in its place, and mend the links."""
    if not docname.startswith(("api/", "auto_examples/")):
        whole = INCLUDE.sub(lambda name: (ROOT / f"{name[1]}.md").read_text("utf-8"), source[0])
        source[0] = with_site_links(whole)
