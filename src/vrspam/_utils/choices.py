"""Choices that parameters and options of the command line share: each list stands here alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, get_args

LossName = Literal["squared", "squared_hinge"]
PenaltyName = Literal["elasticnet", "mcp", "scad"]
SelectionRule = Literal["best", "one-standard-error", "blend"]  # how a point and a feature map are chosen
Selection = Literal["auto", SelectionRule]
SELECTION_RULES: tuple[str, ...] = get_args(Selection)


def usual_spelling(word: Any, known: Iterable[str]) -> Any:
    """The one of `known` that a word is in British or in American spelling; anything else stays what it is.

    >>> usual_spelling("centered", ["paper", "centred"]), usual_spelling("standardised", ["linear", "standardized"])
    ('centred', 'standardized')
    """
    if isinstance(word, str):
        british_and_american = (("centred", "centered"), ("standardised", "standardized"))
        for pair in british_and_american:
            if word in pair:
                return next((other for other in pair if other in known), word)
    return word
