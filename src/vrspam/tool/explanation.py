"""What each column adds to the scores of single rows, of a table or of a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam.data import DataError
from vrspam.data.table import Table
from vrspam.model.effects import Effect, explain, find_strongest  # noqa: F401 (two are public names of this module)
from vrspam.model.explained_rows import ExplainedRow, explain_rows, value_text
from vrspam.model.model import Model
from vrspam.report.words.model import describe_size
from vrspam.tool.score_blocks import open_rows
from vrspam.tool.typed_values import no_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ExplainedRows(NamedTuple):
    """Explained rows, the number of rows read, and notes on values of the file that training did not have.

    Attributes
    ----------
    rows : list of ExplainedRow
        Each with `row`, `score`, `probability`, `identifiers`, `parts` (the largest first) and `reason`.
    n : int
    notes : tuple of str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain_file, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> found = explain_file(train(cells, "target", features="linear"), cells, [3])
    >>> found.rows[0].row, len(found.rows[0].parts), found.rows[0].score < 0
    (3, 30, True)
    """

    rows: list[ExplainedRow]
    n: int
    notes: tuple[str, ...]


def explain_file(
    model: Model, path: Any, numbers: Sequence[int] | None = None, *, most: int | None = None, **reading: Any
) -> ExplainedRows:
    """Explain rows of a table: what each column adds to the score of each row.

    Parameters
    ----------
    model : Model
        From `train` or `load_model`.
    path : path, directory, pattern or list of paths; or frame
        Rows with the columns of the model; labels are not needed.
    numbers : sequence of int, optional
        The rows to explain, counted from 1 (the first row of the data), in this order. By default all.
    most : int, optional
        Without `numbers`: explain only this many rows, the first ones.
    **reading
        `format`, `delimiter`, `encoding` and `zero_based` of `vrspam.data.read_chunks`. `allow_missing` names columns
        that may be unreadable in more than half of the rows, and then count as missing.

    Returns
    -------
    ExplainedRows

    Examples
    --------
    >>> import pandas as pd
    >>> from vrspam.tool import explain_file, train
    >>> ages, sick = [20 + row // 5 for row in range(300)], ["no"] * 140 + ["yes", "no"] * 10 + ["yes"] * 140
    >>> patients = pd.DataFrame({"age": ages, "sick": sick})
    >>> (row,) = explain_file(train(patients, "sick", features="linear"), patients, [2]).rows
    >>> row.row, row.parts[0].column, row.parts[0].value, row.score < 0
    (2, 'age', 20.0, True)
    """

    def choose(names: Mapping[str, Any]) -> list[str]:
        """Columns to show as they are."""
        return [name for name in model.identifiers if name in names]

    stream = open_rows(model, path, labels=False, keep=choose, on_error="keep", **reading)
    for number in numbers or ():
        if number < 1:
            raise DataError(no_row(number))
    explained: dict[int, ExplainedRow] = {}
    n = 0
    blocks = stream.read()
    for table in blocks:
        places, order = _in_file_order(table)
        chosen = _chosen(places, numbers, most)
        for row in explain_rows(model, table.rows, table.raw, table.broken, places[chosen], order[chosen]):
            explained[row.row] = row
        n += places.size
        if numbers is not None and set(numbers) <= set(explained):
            break  # the rest of a long file is not needed
    if numbers is None:
        # notes on a file need not hold for some of its rows
        notes = () if blocks.unseen is None else tuple(blocks.unseen.sentences())
        return ExplainedRows(list(explained.values()), n, notes)
    for number in sorted(set(numbers) - set(explained)):
        raise DataError(f"there is no row {number:,}: {stream.source.paths[0]} has {n:,} rows, counted from 1")
    return ExplainedRows([explained[number] for number in dict.fromkeys(numbers)], n, ())


def _in_file_order(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all rows of a block, and where each is: its place in the table, or -1 minus that in `broken`."""
    places = np.concatenate([table.places, np.array([row.number for row in table.broken], dtype=np.intp)])
    indices = np.concatenate([np.arange(table.places.size), -1 - np.arange(len(table.broken))])
    in_order = np.argsort(places, kind="stable")
    return places[in_order], indices[in_order]


def _chosen(places: np.ndarray, numbers: Sequence[int] | None, most: int | None) -> np.ndarray:
    """Which rows of a block are explained, by their numbers in the file."""
    if numbers is not None:
        return np.isin(places, list(numbers))
    return places <= (np.inf if most is None else most)


def features_picture(model: Model) -> Figure:
    """The curves of the most important columns; for a model without curves, the features of the largest effect."""
    from vrspam.plotting import plot_coefficients, plot_shapes
    from vrspam.plotting.style import new_figure

    if model.shapes is not None:
        return plot_shapes(model)
    strongest = find_strongest(model, 20)
    figure, axes = new_figure(1, 1, (8.0, 1.1 + 0.27 * max(len(strongest), 2)))
    plot_coefficients(dict(strongest), label=describe_size(model), ax=axes[0, 0])
    return figure


def row_picture(model: Model, row: ExplainedRow) -> Figure:
    """What each column adds to the score of one row."""
    from vrspam.plotting import plot_contributions
    from vrspam.plotting.style import new_figure

    if row.score is None:
        raise ValueError(f"row {row.row:,} has no score to draw: {row.reason}")
    figure, axes = new_figure(1, 1, (6.4, 1.4 + 0.27 * min(len(row.parts) + 1, 14)))
    values = {part.column: text for part in row.parts if (text := value_text(model, part))}
    plot_contributions({part.column: part.adds for part in row.parts}, values, ax=axes[0, 0])
    axes[0, 0].set_title(f"row {row.row:,}")
    return figure
