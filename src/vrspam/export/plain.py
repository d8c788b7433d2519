"""What plain Python and SQL share: which models they can hold, and words for their comments."""

from __future__ import annotations

from typing import Any

import vrspam
from vrspam._utils.messages import Parameter
from vrspam.features.readings import HOUR, MONTH, WEEKDAY, YEAR
from vrspam.model.scorer import NotExportable, Scorer, scorer_of

PART_WORDS = {
    YEAR: "the position in time, 1970 + days since 1970-01-01 / 365.2425",
    MONTH: "the month, 1 to 12",
    WEEKDAY: "the day of the week, 1 for Monday to 7 for Sunday",
    HOUR: "the hour, 0 to 23",
}


def additive_scorer(model: Any, language: str) -> Scorer:
    """What is exported of a model whose score is a sum over columns; others are refused with the reason."""
    scorer = scorer_of(model)
    if scorer.kernels or scorer.trees:
        kinds = " and ".join(["a kernel"] * bool(scorer.kernels) + ["trees"] * bool(scorer.trees))
        raise NotExportable(
            "The score has parts that depend on several columns at once ({kinds}), and {language} is written column by "
            "column: export ONNX instead, or train with {additive}.",
            kinds=kinds,
            language=language,
            additive=Parameter("features", "additive"),
        )
    return scorer


def shown(text: Any) -> str:
    """A name or a label for a comment, on one line whatever it holds.

    >>> shown("two\\nlines"), shown("größe")
    ("'two\\\\nlines'", "'größe'")
    """
    return repr(text)


def written_by() -> str:
    """Who wrote the file."""
    return f"Written by vrspam {vrspam.__version__}."
