"""The file of scores: its columns, block by block, in the order of the rows or the highest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.atomic import replacing
from vrspam.data import DataError
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import type_kind
from vrspam.data.stream import Pass, Stream
from vrspam.data.table import Table
from vrspam.model.model import Model
from vrspam.tool.score_blocks import ScoredBlock, score_blocks

OWN = ("score", "probability", "decision", "extrapolated", "row", "reason")
SCORE, PROBABILITY, DECISION, EXTRAPOLATED, ROW, REASON = OWN
NOT_FINITE = "the score is not a finite number: a number of this row, or of the model, is too large"
KINDS = (".csv", ".csv.gz", ".parquet")
# Characters that spreadsheets skip before a formula, and that start one, in full-width forms too in some spreadsheets.
_BLANKS = "\x01-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
FORMULA = f"^[{_BLANKS}]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]"


class Prediction(NamedTuple):
    """The number of rows written, how many have no score, and notes, such as on values new since training.

    With `top`, rows without a score are not written, and are counted all the same. `extrapolated` counts rows with a
    number far outside the range of training, `called` rows that are called positive, out of all that were `scored`.
    """

    rows: int
    unscored: int
    unseen: tuple[str, ...] = ()
    extrapolated: int = 0
    called: int = 0
    scored: int = 0


class RowWithoutScore(Exception):
    """A row cannot be scored, and the file has no column to say so."""


class Layout(NamedTuple):
    """The columns of the result: those that are copied, by their new names, then those of the model."""

    copied: Mapping[str, str]
    own: tuple[str, ...]
    escapes: bool

    @classmethod
    def of(cls, model: Model, stream: Stream, copied: Mapping[str, str], *, escapes: bool, reasons: bool) -> Layout:
        """What a model says of each row; `reasons` says why a row has no score."""
        own = [SCORE]
        if model.calibration is not None:
            own.append(PROBABILITY)
        if not model.ranks:
            own.append(DECISION)
        if not stream.source.reader.sparse:
            own.append(EXTRAPOLATED)
        if reasons:
            own.append(REASON)
        return cls(copied, tuple(own), escapes)

    @property
    def names(self) -> list[str]:
        """All names, in order."""
        return [*self.copied.values(), *self.own]

    def shown(self, column: Any) -> Any:
        """A copied column as it is written."""
        return escaped(column) if self.escapes else column

    def batch(self, block: ScoredBlock, model: Model, called: np.ndarray | None) -> Any:
        """The rows of a block; `called` says which are called positive, None where scores only rank."""
        import pyarrow as pa

        columns = [self.shown(block.table.raw[name]) for name in self.copied]
        columns.append(pa.array(block.scores))
        if model.calibration is not None:
            columns.append(pa.array(model.probabilities(block.scores)))
        if called is not None:
            columns.append(self.shown(pa.array(np.array(model.classes)[called.astype(np.intp)])))
        if block.far is not None:
            columns.append(pa.array(block.far))
        if REASON in self.own:
            columns.append(pa.nulls(block.scores.size, pa.string()))
        return pa.record_batch(columns, names=self.names)

    def empty(self, more: Sequence[str] = ()) -> Any:
        """A batch without rows, for a file of names alone."""
        import pyarrow as pa

        return pa.record_batch({name: pa.array(np.empty(0)) for name in [*self.names, *more]})


class Tally:
    """What was written so far; the fields are those of `Prediction`."""

    def __init__(self) -> None:
        self.rows = 0
        self.unscored = 0
        self.extrapolated = 0
        self.called = 0

    def add(self, block: ScoredBlock, finite: np.ndarray, called: np.ndarray | None, *, drops: bool) -> None:
        """Count the rows of a block; rows without a score are left out if it `drops` them."""
        n_unscored = int((~finite).sum())
        self.rows += finite.size - (n_unscored if drops else 0) + len(block.table.broken)
        self.unscored += (0 if drops else n_unscored) + len(block.table.broken)
        if called is not None:
            self.called += int((called & finite).sum())
        if block.far is not None:
            self.extrapolated += int(block.far.sum())

    def prediction(self, written: int) -> Prediction:
        """The counts as they are handed on."""
        return Prediction(written, self.unscored, (), self.extrapolated, self.called, self.rows - self.unscored)


class HighestRows:
    """The rows with the highest scores so far, the highest first; ties in the order of the file."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.batches: list[Any] = []

    def add(self, batch: Any, numbers: np.ndarray) -> None:
        """Take a batch whose rows have these numbers; rows without a score are never among the highest."""
        import pyarrow as pa

        rows = pa.Table.from_batches([*self.batches, batch.append_column(ROW, pa.array(numbers))])
        scores = rows.column(SCORE).to_numpy()
        n_scored = int((~np.isnan(scores)).sum())
        order = np.argsort(-scores, kind="stable")[: min(self.most, n_scored)]
        self.batches = rows.take(order).combine_chunks().to_batches()

    @property
    def size(self) -> int:
        """How many there are."""
        return sum(batch.num_rows for batch in self.batches)


class BatchFile:
    """A file that takes batches of rows, CSV or Parquet; its writer is opened by the first of them."""

    def __init__(self, sink: Any, kind: str) -> None:
        self.sink = sink
        self.kind = kind
        self.writer: Any = None

    def write(self, batch: Any) -> None:
        """Add rows."""
        import pyarrow.csv as arrow_csv
        import pyarrow.parquet as pq

        if self.writer is None:
            open_writer: Any = pq.ParquetWriter if self.kind == ".parquet" else arrow_csv.CSVWriter
            self.writer = open_writer(self.sink, batch.schema)
        self.writer.write_batch(batch)


@contextmanager
def batch_file(target: Path) -> Iterator[BatchFile]:
    """A file that appears under its name when all is written."""
    import pyarrow as pa

    kind = check_out(target)
    packing = "gzip" if kind == ".csv.gz" else None
    # a file of Python: arrow takes only names that are UTF-8
    with replacing(target) as temporary, temporary.open("wb") as file, pa.output_stream(file, packing) as sink:
        output = BatchFile(sink, kind)
        yield output
        output.writer.close()


def write_scores(model: Model, reading: Pass, layout: Layout, target: Path, top: int | None) -> Prediction:
    """Write all rows, or those at the top.

    Rows that cannot be scored need a column of reasons, unless they are dropped or cannot be at the top: where it is
    missing, `RowWithoutScore` is raised and no file appears.
    """
    drops = reading.stream.rules.on_error == "skip"
    needs_reasons = top is None and REASON not in layout.own
    tally = Tally()
    highest = None if top is None else HighestRows(top)
    with batch_file(target) as output:
        for block in read_ahead(score_blocks(model, reading)):  # scored while the block before is written
            finite = np.isfinite(block.scores)
            broken = block.table.broken
            all_scored = not broken and (drops or bool(finite.all()))
            if needs_reasons and not all_scored:
                raise RowWithoutScore

            called = None if model.ranks else model.calls(block.scores)
            batch = layout.batch(block, model, called)
            if not finite.all():
                batch = _drop(batch, finite) if drops else without_scores(batch, finite)
            tally.add(block, finite, called, drops=drops)

            if highest is not None:
                highest.add(batch, block.table.places)
            elif broken:
                output.write(_with_broken_rows(batch, block.table, layout))
            else:
                output.write(batch)

        if tally.rows == tally.unscored and reading.problems.notes:
            first = reading.problems.notes[0]
            raise DataError(f"no row of {first.file} could be scored: {first.where}: {first.reason}")
        if highest is not None:
            for batch in highest.batches:
                output.write(batch)
        if output.writer is None:  # no row was written: the file has names alone
            output.write(layout.empty(() if highest is None else (ROW,)))
    return tally.prediction(tally.rows if highest is None else highest.size)


def _drop(batch: Any, finite: np.ndarray) -> Any:
    """The rows that have a score."""
    import pyarrow as pa

    return batch.filter(pa.array(finite))


def without_scores(batch: Any, finite: np.ndarray) -> Any:
    """Rows in which scores that are not finite, and what follows from them, are empty, with the reason."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(finite)
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name in (SCORE, PROBABILITY, DECISION):
        if name in columns:
            columns[name] = pc.if_else(known, columns[name], pa.scalar(None, columns[name].type))
    if REASON in columns:
        columns[REASON] = pc.if_else(known, columns[REASON], NOT_FINITE)
    return pa.record_batch(columns).cast(batch.schema)


def _with_broken_rows(batch: Any, table: Table, layout: Layout) -> Any:
    """Scored rows and those without a score, in the order of the file."""
    import pyarrow as pa

    lines = []
    for row in table.broken:
        cells = {field.name: pa.nulls(1, field.type) for field in batch.schema}
        for name, column in row.raw.items():
            cells[layout.copied[name]] = layout.shown(column)
        cells[REASON] = pa.array([row.reason])
        lines.append(pa.record_batch(cells).cast(batch.schema))
    rows = pa.Table.from_batches([batch, *lines])
    places = np.concatenate([table.places, [row.number for row in table.broken]])
    return rows.take(np.argsort(places, kind="stable")).combine_chunks().to_batches()[0]


def escaped(column: Any) -> Any:
    """A column with an apostrophe before texts that look like formulas; numbers stay as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    number = r"^ *[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$"

    if type_kind(column.type) != "string":
        return column
    texts = column.cast(pa.string())
    is_number = pc.match_substring_regex(texts, number)  # columns of CSV are copied as text
    is_formula = pc.and_not(pc.match_substring_regex(texts, FORMULA), is_number)
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)


def check_out(path: Path) -> str:
    """Return the format of an output file by its name; refuse other names, and directories that do not exist."""
    kind = next((kind for kind in KINDS if path.name.lower().endswith(kind)), None)
    if kind is None:
        raise DataError(f"{path} must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent} is not a directory: make it first")
    return kind
