"""Reading a model column by column: curves with bands from the folds, importances, interactions, parts of a score."""

# ruff: noqa: F401 (names that are not in `__all__` are for other modules of this package)

from vrspam.features.base import Places
from vrspam.inspection.groups import INTERACTIONS, column_groups, distinct, importances
from vrspam.inspection.interactions import Axis, PairEffect
from vrspam.inspection.reading import MOST_COLUMNS, read_later, read_score
from vrspam.inspection.shapes import Shape, Shapes

__all__ = ["Axis", "PairEffect", "Shape"]  # what estimators hand out
