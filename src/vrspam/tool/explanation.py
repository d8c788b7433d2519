"""What each column adds to the scores of single rows, of a table or of a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam.data import Chunks, DataError
from vrspam.data.chunks import BrokenRow
from vrspam.model.drawing import Effect, explain, find_strongest  # noqa: F401 (two are public names of this room)
from vrspam.report.words import describe_size
from vrspam.tables import frames
from vrspam.tool.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Part(NamedTuple):
    """What one column, or "interactions", adds to a score, and the row's value; None where it is missing."""

    column: str
    value: float | str | None
    adds: float


@dataclass(frozen=True)
class ExplainedRow:
    """One row of a file: its number (1 is the first row of the data), its score, and its parts, the largest first.

    A row that cannot be scored has no score, and a `reason`. `identifiers` are columns that name the row.
    """

    row: int
    score: float | None
    probability: float | None
    identifiers: dict[str, str]
    parts: tuple[Part, ...]
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**vars(self), "parts": [part._asdict() for part in self.parts]}


class ExplainedRows(NamedTuple):
    """Explained rows, how many rows were read, and what all of them hold that training did not have.

    Attributes
    ----------
    rows : list of ExplainedRow
        Each with `row`, `score`, `probability`, `identifiers`, `parts` (the largest first) and `reason`.
    n : int
    notes : tuple of str

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain_file, train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> found = explain_file(train(path, "target", features="linear"), path, [3])
    >>> found.rows[0].row, len(found.rows[0].parts), found.rows[0].score < 0
    (3, 30, True)
    """

    rows: list[ExplainedRow]
    n: int
    notes: tuple[str, ...]


def explain_file(
    model: Model, path: Any, numbers: Sequence[int] | None = None, *, most: int | None = None, **reading: Any
) -> ExplainedRows:
    """Explain rows of a file: what each column adds to the score of each.

    Parameters
    ----------
    model : Model
        From `train` or `load_model`.
    path : path
        Rows with the columns of the model; labels are not needed.
    numbers : sequence of int, optional
        The rows to explain, counted from 1 (the first row of the data), in this order. By default all.
    most : int, optional
        Without `numbers`: explain the first rows alone.
    **reading
        `format`, `delimiter`, `encoding` and `zero_based` of `vrspam.data.read_chunks`.

    Returns
    -------
    ExplainedRows

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from vrspam.tool import explain_file, train
    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(300) < 0.3
    >>> lines = [f"{a:.0f},{'yes' if s else 'no'}" for a, s in zip(60 + 10 * sick + rng.normal(0, 9, 300), sick)]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("\\n".join(["age,sick", *lines]))
    >>> (row,) = explain_file(train(path, "sick", features="linear"), path, [2]).rows
    >>> row.row, row.parts[0].column, f"{row.parts[0].value:g}" == lines[1].split(",")[0]
    (2, 'age', True)
    """
    source = model.open_source(path, **reading)
    keep = partial(_kept_columns, model) if source.reader.tabular else ()
    chunks = model.open(source, labels=False, keep=keep, keep_errors=True)
    wanted = None if numbers is None else set(numbers)
    for number in wanted or ():
        if number < 1:
            raise DataError(f"there is no row {number}: rows are counted from 1, the first row of the data")
    found: dict[int, ExplainedRow] = {}
    n = 0
    for block in _blocks(chunks):
        places = np.arange(n + 1, n + 1 + block.size)
        if wanted is None:
            chosen = places[: None if most is None else max(most - n, 0)]
        else:
            chosen = places[np.isin(places, list(wanted))]
        found |= {row.row: row for row in _explain_block(model, block, chosen, n + 1)}
        n += block.size
        if wanted is not None and wanted <= set(found):
            break  # the rest of a long file is not needed
    if wanted is not None:
        for number in sorted(wanted - set(found)):
            raise DataError(f"there is no row {number:,}: {source.paths[0]} has {n:,} rows, counted from 1")
    rows = list(found.values()) if numbers is None else [found[number] for number in dict.fromkeys(numbers)]
    all_rows = numbers is None and chunks.unseen is not None  # what is said of a file need not hold for some rows
    return ExplainedRows(rows, n, tuple(chunks.unseen.sentences()) if all_rows and chunks.unseen else ())


def value_text(model: Model, part: Part) -> str:
    """The value of a column in a row, as people write it; "" where it has none."""
    if part.value is None:
        return "missing" if part.column in model.schema.columns else ""
    name, piece = model.schema.made().get(part.column, ("", ""))
    if piece and isinstance(part.value, float):
        return model.schema.readings[name].show(piece, part.value)
    return f"{part.value:.7g}" if isinstance(part.value, float) else part.value


class _Block(NamedTuple):
    """Rows that can be scored, their kept columns, and those that cannot, which stand between them."""

    X: Any
    kept: Any
    broken: Sequence[BrokenRow]

    @property
    def scored(self) -> int:
        return 0 if self.X is None else int(self.X.shape[0])

    @property
    def size(self) -> int:
        return self.scored + len(self.broken)

    def order(self) -> np.ndarray:
        """For each row of the file the number of the row that can be scored, or -1 - that of the broken one."""
        places = np.concatenate([np.arange(self.scored) + 0.5, [row.place for row in self.broken]])
        numbers = np.concatenate([np.arange(self.scored), -1 - np.arange(len(self.broken))])
        return numbers[np.argsort(places, kind="stable")].astype(int)


def _blocks(chunks: Chunks) -> Iterator[_Block]:
    for X, _, *more in chunks:
        kept, broken = (*more, None, ())[:2] if more else (None, ())
        yield _Block(X, kept, broken)


def _kept_columns(model: Model, names: Mapping[str, Any]) -> list[str]:
    """Columns to show as they are: those of the model before they are encoded, and identifiers."""
    own = [] if model.features is not None else [*model.schema.columns, *model.schema.readings]
    return [name for name in dict.fromkeys([*own, *model.identifiers]) if name in names]


def _explain_block(model: Model, block: _Block, chosen: np.ndarray, first: int) -> Iterator[ExplainedRow]:
    """The chosen rows of a block, whose first row has the number `first`."""
    order = block.order()[chosen - first]
    good = order[order >= 0]
    scores, parts = np.empty(0), {}
    if good.size:
        some = frames.rows_of(block.X, good)
        scores, parts = model.score(some), parts_by_column(model, some)
    probabilities = None if model.calibration is None else model.calibration(scores)
    kept = {} if block.kept is None else dict(zip(block.kept.schema.names, block.kept.columns, strict=True))
    number = 0
    for place, which in zip(chosen.tolist(), order.tolist(), strict=True):
        if which < 0:
            yield ExplainedRow(place, None, None, {}, (), block.broken[-1 - which].reason)
            continue
        cells = {name: _plain(column[which].as_py()) for name, column in kept.items()}
        own = [
            Part(name, value_of(model, name, block.X, which, cells), float(values[number]))
            for name, values in parts.items()
        ]
        yield ExplainedRow(
            place,
            float(scores[number]),
            None if probabilities is None else float(probabilities[number]),
            {name: str(cells[name]) for name in model.identifiers if cells.get(name) is not None},
            tuple(sorted(own, key=lambda part: -abs(part.adds))),
        )
        number += 1


def parts_by_column(model: Model, X: Any) -> dict[str, np.ndarray]:
    """What each column adds; the indicators of a categorical one are added up."""
    if model.features is not None or not model.schema.categorical:
        return model.parts_of_rows(X)
    parts = model.parts(X)
    widths = [1] * len(model.schema.numeric) + [len(values) for values in model.schema.categorical.values()]
    stops = np.cumsum(widths).tolist()
    places = zip(stops, widths, strict=True)
    sums = [parts[:, stop - width : stop].sum(axis=1) for stop, width in places]
    return dict(zip(model.schema.columns, sums, strict=True))


def value_of(
    model: Model, name: str, X: Any, row: int, cells: Mapping[str, Any] = MappingProxyType({})
) -> float | str | None:
    """The value of a column in a row: as in `cells`, or what was made of it; None where it is missing."""
    if name in cells:
        return cells[name]
    columns = model.schema.columns
    if name not in columns:  # interactions
        return None
    index = columns.index(name)
    if frames.is_frame(X):
        return _plain(X.column(index)[row].as_py())
    return _plain(float(X[row, index])) if index < X.shape[1] else None


def _plain(value: Any) -> float | str | None:
    """A value as JSON can hold it; None for a missing one."""
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        return float(value)
    return str(value)


def features_picture(model: Model) -> Figure:
    """The curves of the most important columns; for a model without curves, the features of the largest effect."""
    from vrspam.plotting import plot_coefficients, plot_shapes
    from vrspam.plotting.style import new_figure

    if model.shapes is not None:
        shapes = {shape.name: shape for shape in model.shapes.columns}
        return plot_shapes({name: shape for name, shape in shapes.items() if shape.importance > 0.0} or shapes)
    found = find_strongest(model, 20)
    figure, axes = new_figure(1, 1, (8.0, 1.1 + 0.27 * max(len(found), 2)))
    plot_coefficients(dict(found), label=describe_size(model), ax=axes[0, 0])
    return figure
