"""Reading a model column by column: curves with bands from the folds, importances, interactions, parts of a score."""

# ruff: noqa: F401 (names that are not in `__all__` are for other modules of this package)

from vrspam.inspection.interactions import Axis, PairEffect
from vrspam.inspection.reading import MOST_COLUMNS, read_later, read_score
from vrspam.inspection.shapes import (
    INTERACTIONS,
    Places,
    Shape,
    Shapes,
    column_groups,
    distinct,
    importances,
)

__all__ = ["Axis", "PairEffect", "Shape"]  # what estimators hand out
