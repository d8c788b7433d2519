"""The README is short, the site names every public name and links every page, and no link is broken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import vrspam

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
REFERENCE = (ROOT / "docs" / "api.md").read_text("utf-8")
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_public_names_are_listed():
    rooms = ["data", "distributed", "export", "features", "metrics", "online", "plotting", "theory", "tool"]
    wanted = [name for name in vrspam.__all__ if not name.startswith("_")] + [f"vrspam.{room}" for room in rooms]
    assert [name for name in wanted if f"`{name}`" not in REFERENCE] == []


def test_every_page_can_be_reached_by_links_from_the_readme():
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            waiting += [(page.parent / link).resolve() for link in links(page) if link.endswith(".md")]
    of_the_site = {"index.md", "changelog.md"}  # the latter shows CHANGELOG.md
    assert {page.name for page in PAGES if page not in seen} == of_the_site


def test_the_readme_has_the_commands_to_begin_with():
    assert [
        command for command in ("make demo", "make test", "vrspam report ", "pip install ") if command not in README
    ] == []


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    pages_of_the_build = ("auto_examples/",)
    assert [
        link for link in links(page) if not (page.parent / link).exists() and not link.startswith(pages_of_the_build)
    ] == []


def links(page):
    return re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8"))
