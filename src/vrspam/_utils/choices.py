"""Choices that parameters and options of the command line share: each list stands here alone."""

from __future__ import annotations

from typing import Literal, get_args

SelectionRule = Literal["best", "one-standard-error", "blend"]  # how a point and a feature map are chosen
Selection = Literal["auto", SelectionRule]
SELECTION_RULES: tuple[str, ...] = get_args(Selection)
