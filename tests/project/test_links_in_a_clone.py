"""Every relative link of README.md, the other pages at the top and docs/*.md leads to something in a clone."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def headings(text: str) -> set[str]:
    """The anchors that a page of Markdown has, as hosts of repositories make them, and explicit ones."""
    lines = re.findall(r"^#+ +(.*?) *#*$", FENCE.sub("", text), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", line.replace("`", "").lower()).replace(" ", "-") for line in lines]
    return {*plain, *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = CODE.sub("", FENCE.sub("", page.read_text("utf-8")))
    dead = []
    for link in LINK.findall(text):
        path, _, anchor = unquote(link).partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            dead.append(link)
            continue
        if anchor and target.suffix == ".md" and anchor not in headings(target.read_text("utf-8")):
            dead.append(link)
    assert dead == []
