"""Choices that parameters and options of the command line share: each list stands here alone."""

from __future__ import annotations

from typing import Literal, get_args

SelectionRule = Literal["best", "one-standard-error"]
SELECTION_RULES: tuple[str, ...] = get_args(SelectionRule)
