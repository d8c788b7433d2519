"""Sections of docs/doctor.md, made from the docstrings of checks: `python -m tests.doctor_page` writes them anew."""

from __future__ import annotations

import inspect
from pathlib import Path

from vrspam.checks.diagnose import CHECKS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "doctor.md"


def page_of(checks, text: str) -> str:
    """The page with the sections of these checks; what stands before the first section stays."""
    head = text.partition("\n## ")[0].rstrip()
    sections = [f"## {check.code}\n\n{inspect.getdoc(check)}" for check in checks]
    return "\n\n".join([head, *sections]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page_of(CHECKS, PAGE.read_text("utf-8")), "utf-8")
