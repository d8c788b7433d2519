"""docs/architecture.md names modules that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "vrspam"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def listed(section: str) -> set[str]:
    """The modules that the page lists line by line for a walk."""
    text = re.split(rf"^## `{section}`$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    return set(re.findall(r"^ {4,}([\w/]+\.py) ", text, flags=re.MULTILINE))


@pytest.mark.parametrize("section", ["fit", "fit_stream", "train", "export", "reproduce"])
def test_the_page_names_modules_that_are_there(section):
    names = {name for name in listed(section) if "/" in name}
    assert names
    assert sorted(name for name in names if not (SOURCE / name).is_file()) == []
