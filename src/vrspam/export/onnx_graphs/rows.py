"""`Rows`: the columns of the rows to be scored, as the parts of a score take them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vrspam.export.onnx_graphs.graph import ML, Graph
from vrspam.features.encoders import Encoder, Indicators
from vrspam.features.parts import CategoryPart, Effect


@dataclass(frozen=True)
class Rows:
    """The columns of the rows to be scored, as values of a graph."""

    graph: Graph
    matrix: str  # all columns of numbers, in double
    places: Mapping[int, int]  # which of its columns holds the column of this number
    texts: Mapping[int, str]  # the columns of categories, each as a value of shape (rows, 1)
    missing: Mapping[int, str]  # the text that stands for a missing value in each of them

    def numbers(self, columns: Sequence[int]) -> str:
        """Some columns of numbers, side by side."""
        places = [self.places[column] for column in columns]
        return self.graph.columns(self.matrix, places, len(self.places))

    def codes(self, column: int, categories: Sequence[str]) -> str:
        """The place of each category in this list; behind it are a missing value, and then any other category."""
        keys = [*categories, self.missing[column]]
        return self.graph.add(
            "LabelEncoder",
            self.texts[column],
            domain=ML,
            keys_strings=keys,
            values_int64s=list(range(len(keys))),
            default_int64=len(keys),
        )

    def lines(self, column: int, encoder: Indicators, table: np.ndarray) -> str:
        """For each row the line of a table that has one for each category of the column, and a last one for none."""
        categories = [category for category in encoder.codes if category is not None]
        missing = encoder.codes.get(None, -1)
        order = [*range(len(categories)), missing, encoder.other]

        lines = self.graph.constant(table[order])
        codes = self.codes(column, categories)
        chosen = self.graph.add("Gather", lines, codes)  # (rows, 1, columns of the table)
        return self.graph.add("Squeeze", chosen, self.graph.constant([1], np.int64))


def missing_text(parts: Iterable[Effect | Encoder | None]) -> str:
    """The text that stands for a missing value in a column: "", unless one of these parts has that category.

    >>> missing_text([CategoryPart({"Graz": 1.0})]), missing_text([CategoryPart({"": 2.0, "Graz": 1.0})])
    ('', '(missing)')
    """
    categories: set[str] = set()
    for part in parts:
        if isinstance(part, CategoryPart):
            categories.update(part.values)
        elif isinstance(part, Indicators):
            categories.update(part.categories)

    text = ""
    while text in categories:
        text = f"({text or 'missing'})"
    return text
