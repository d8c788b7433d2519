"""Names that options and rooms share, readable before anything is imported: each list is written here only."""

from collections.abc import Iterable
from typing import Any, Literal, get_args

INDEPENDENT = "none"  # the value of `groups` for independent rows
COPIES = "duplicates"  # the value of `groups` for groups of equal or nearly equal rows

LossName = Literal["squared", "squared_hinge"]
PenaltyName = Literal["elasticnet", "mcp", "scad"]
USUAL_PENALTY: PenaltyName = "elasticnet"
SelectionRule = Literal["best", "one-standard-error", "blend"]  # how a point and a feature map are chosen
Selection = Literal["auto", SelectionRule]
SELECTION_RULES: tuple[str, ...] = get_args(Selection)
THRESHOLD_RULES = ("recall", "precision", "alerts", "cost_ratio", "threshold")  # for a threshold that is stored


def usual_spelling(word: Any, known: Iterable[str]) -> Any:
    """Return a word in the spelling that `known` has, British or American; anything else stays as it is."""
    if isinstance(word, str):
        british_and_american = (("centred", "centered"), ("standardised", "standardized"))
        for pair in british_and_american:
            if word in pair:
                return next((other for other in pair if other in known), word)
    return word
