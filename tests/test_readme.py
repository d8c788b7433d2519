"""The README names every public name and links to every page, and no link is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vrspam

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_public_names_are_listed():
    rooms = ["data", "distributed", "export", "features", "metrics", "plotting", "theory", "tool"]
    wanted = [name for name in vrspam.__all__ if not name.startswith("_")] + [f"vrspam.{room}" for room in rooms]
    assert [name for name in wanted if f"`{name}`" not in README] == []


def test_every_page_is_linked():
    assert [page.name for page in PAGES if f"(docs/{page.name})" not in README] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
