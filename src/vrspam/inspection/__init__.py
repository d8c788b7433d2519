"""Reading a model column by column: curves with bands, importances, the parts of one row's score."""

from vrspam.inspection.curves import (
    INTERACTIONS,
    Reading,
    Shape,
    column_groups,
    distinct,
    drawn_part,
    importances,
    make_shape,
    parts_of_score,
    points,
    shape_functions,
)

__all__ = [
    "INTERACTIONS",
    "Reading",
    "Shape",
    "column_groups",
    "distinct",
    "drawn_part",
    "importances",
    "make_shape",
    "parts_of_score",
    "points",
    "shape_functions",
]
