"""What a release says about itself: one version in all places, and an address for documentation in one."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.version import Version

from vrspam import __version__

ROOT = Path(__file__).parents[2]


def test_citation_and_changelog_name_the_version():
    assert str(Version(__version__)) == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    newest = re.search(r"^## (\S+) \(.+\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest.group(1) == __version__


def test_the_metadata_hold_no_address():
    """Addresses of documentation follow from `vrspam._utils.parameters.BASE` alone."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    assert "[project.urls]" not in text
    assert 'authors = [{ name = "vrspam contributors" }]' in text
