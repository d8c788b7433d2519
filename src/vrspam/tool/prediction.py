"""Scores for a file of any size, block by block, in the order of its rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.atomic import replacing
from vrspam._utils.messages import Message, Parameter
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import Chunks, DataError
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import type_kind
from vrspam.data.readers.block import BrokenRow
from vrspam.tool.model import Model
from vrspam.tool.plan import check_option, one_or_more
from vrspam.tool.promises import share_of_calls_note

OWN = ("score", "probability", "decision", "extrapolated", "row", "reason")
SCORE, PROBABILITY, DECISION, EXTRAPOLATED, ROW, REASON = OWN
NOT_FINITE = "the score is not a finite number: a number of this row, or of the model, is too large"
KINDS = (".csv", ".csv.gz", ".parquet")
# Characters that spreadsheets skip before a formula, and that start one, in full-width forms too in some spreadsheets.
_BLANKS = "\x01-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff"
_FORMULA = f"^[{_BLANKS}]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]"


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


def predict(
    model: Model,
    path: Any,
    out: str | os.PathLike[str],
    *,
    ids: Sequence[str] | None = None,
    top: int | None = None,
    escape_formulas: bool = False,
    drop_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> int:
    """Write the score of every row of a file, its probability if the model is calibrated, and its label.

    The column `decision` holds the label: the threshold that the model stores decides, or else the probability ½.
    `extrapolated` marks rows with a number far outside the range of training. A row that cannot be scored (a line with
    too many fields, an infinite number) stays in its place, with an empty score and a column `reason`. A warning names
    values that training has not seen.

    Parameters
    ----------
    model : Model
    path : path, directory, pattern or list of paths; or frame
        Rows with the columns of the model; labels are not needed and not read.
    out : path
        `.csv`, `.csv.gz` or `.parquet`; written whole or not at all.
    ids : sequence of str, optional
        Columns to copy before the scores. By default the identifiers that training left out, and its columns of groups
        and of strata, if the file has them.
    top : int, optional
        Write only this many rows, those with the highest scores, the highest first; the column `row` has their numbers
        in the file, from 1.
    escape_formulas : bool, default=False
        In CSV, write an apostrophe before copied text, and names of copied columns, that start with = + - @ or a tab.
        A spreadsheet would take them for formulas. Numbers, and Parquet, stay as they are.
    drop_errors : bool, default=False
        Leave out rows that cannot be scored.
    progress : bool, default=False
        Show rows per second on the standard error stream.
    **reading
        `format`, `delimiter`, `encoding` and `zero_based` of `vrspam.data.read_chunks`. `allow_missing` names columns
        that may be unreadable in more than half of the rows, and then count as missing.

    Returns
    -------
    int
        Rows written.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import predict, train
    >>> cells, path = load_breast_cancer(as_frame=True).frame, f"{tempfile.mkdtemp()}/scores.csv"
    >>> predict(train(cells, "target", features="linear"), cells, path)
    569
    >>> with open(path, encoding="utf-8") as scores:
    ...     print(scores.readline().strip())
    "score","probability","decision","extrapolated"
    """
    found = predict_rows(model, path, out, ids, top, escape_formulas, drop_errors, progress=progress, **reading)
    if found.unscored:
        warn(describe_unscored(found.unscored, top))
    if found.unseen:
        warn(UnseenValues(found.unseen))
    return found.rows


def describe_unscored(count: int, top: int | None) -> Message:
    """The warning that rows cannot be scored, and what became of them."""
    rows = f"{count:,} row{'' if count == 1 else 's'} cannot be scored"
    if top is not None:
        words = "{rows}, and cannot be among the highest: without {top}, `predict` says why"
        return Message(words, rows=rows, top=Parameter("top"))
    words = "{rows}: the score is empty there, and the column {reason!r} says why; {drop} leaves such rows out"
    return Message(words, rows=rows, reason=REASON, drop=Parameter("drop_errors", True))


def predict_rows(
    model: Model,
    path: Any,
    out: Any,
    ids: Any,
    top: int | None,
    escape_formulas: bool,
    drop_errors: bool,
    **reading: Any,
) -> Prediction:
    """Do what `predict` does, and return the notes instead of warning."""
    target = Path(out)
    check_option("top", top, one_or_more)
    escape = escape_formulas and check_out(target) != ".parquet"
    copied: dict[str, str] = {}  # columns to copy, and their names in the result: known when the file is opened

    def choose(names: Mapping[str, Any]) -> list[str]:
        """Choose the columns to copy. Names of the result's own columns are refused in `ids`, and changed otherwise."""
        for name in ids or ():
            if name not in names:
                raise DataError(f"{source.paths[0]} has no column {name!r} to copy beside the scores")
            if name in OWN:
                raise DataError(f"column {name!r} cannot be copied: the result has a column of that name")
        facts = model.training
        named = (*model.identifiers, facts.get("groups"), facts.get("within")) if ids is None else ids
        for name in (str(name) for name in dict.fromkeys(named) if name in names):
            new = f"{name} (of the file)" if name in OWN else name
            copied[name] = f"'{new}" if escape and re.match(_FORMULA, new) else new
        return list(copied)

    keep = top is not None or not drop_errors  # numbers of rows count those without a score too
    errors: dict[str, Any] = {"skip_errors": not keep, "keep_errors": keep}
    chunks = model.open(path, labels=False, keep=choose, **errors, **reading)
    source = chunks.source
    if ids:
        source.check_named("ids")
    try:
        found = _write_scores(model, chunks, copied, target, escape, top, reasons=False)
    except _RowWithoutScore:  # once more, with a column of reasons from the start
        found = _write_scores(model, chunks, copied, target, escape, top, reasons=True)
    renamed = [
        f"the identifier {name!r} of {source.paths[0]} is copied as {new!r}, because the result has a column "
        f"{name!r} of its own"
        for name, new in copied.items()
        if name in OWN
    ]
    new = [] if chunks.unseen is None else chunks.unseen.sentences(None if source.reader.sparse else EXTRAPOLATED)
    other_share = share_of_calls_note(model.threshold, model.training, found.called, found.scored)
    if other_share is not None:
        new.append(other_share)
    return found._replace(unseen=(*renamed, *new))


class _RowWithoutScore(Exception):
    """A row cannot be scored, and the file has no column to say so."""


def _write_scores(
    model: Model,
    chunks: Chunks,
    copied: Mapping[str, str],
    target: Path,
    escape: bool,
    top: int | None,
    reasons: bool,
) -> Prediction:
    """Write all rows, or those at the top. The file appears when all is written."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    kind, rows, unscored, marked, called = check_out(target), 0, 0, 0, 0
    kept: list[Any] = []
    has = {PROBABILITY: model.calibration is not None, DECISION: not model.ranks, REASON: reasons}
    has[EXTRAPOLATED] = not chunks.source.reader.sparse
    own = [name for name in OWN if name != ROW and has.get(name, True)]
    half = 0.0 if model.calibration is None else model.calibration.half
    drops = chunks.on_error == "skip"
    open_writer: Any = pq.ParquetWriter if kind == ".parquet" else arrow_csv.CSVWriter
    writer: Any = None
    packing = "gzip" if kind == ".csv.gz" else None
    # a file of Python: arrow takes only names that are UTF-8
    with replacing(target) as temporary, temporary.open("wb") as file, pa.output_stream(file, packing) as sink:
        for block in read_ahead(model.score_chunks(chunks)):  # scored while the block before is written
            finite = np.isfinite(block.scores)
            if (block.broken or not (drops or finite.all())) and not reasons and top is None:
                raise _RowWithoutScore
            columns = [block.kept.column(name) for name in copied]
            columns = [*(map(_escaped, columns) if escape else columns), pa.array(block.scores)]
            if model.calibration is not None:
                with np.errstate(over="ignore", invalid="ignore"):
                    probabilities = model.calibration(block.scores)
                columns.append(pa.array(probabilities))
            if not model.ranks:
                if model.threshold is not None:
                    positive = block.scores >= model.threshold.threshold
                else:
                    positive = probabilities > 0.5 if half is None else block.scores > half
                labels = pa.array(np.array(model.classes)[positive.astype(np.intp)])
                columns.append(_escaped(labels) if escape else labels)
                called += int(positive.sum())
            if block.far is not None:
                columns.append(pa.array(block.far))
                marked += int(block.far.sum())
            if reasons:
                columns.append(pa.nulls(block.scores.size, pa.string()))
            batch = pa.record_batch(columns, names=[*copied.values(), *own])
            before, place = rows, np.arange(batch.num_rows)
            if not finite.all():
                batch = batch.filter(pa.array(finite)) if drops else _without_scores(batch, finite)
                called -= int((positive & ~finite).sum()) if not model.ranks else 0
                unscored += 0 if drops else int((~finite).sum())
            rows, unscored = rows + batch.num_rows + len(block.broken), unscored + len(block.broken)
            if top is not None:
                place += np.searchsorted([row.place for row in block.broken], place, side="right")
                both = pa.Table.from_batches([*kept, batch.append_column(ROW, pa.array(before + 1 + place))])
                scores = both.column(SCORE).to_numpy()
                order = np.argsort(-scores, kind="stable")[: min(top, int((~np.isnan(scores)).sum()))]
                kept = both.take(order).combine_chunks().to_batches()  # the highest first, no row without a score
                continue
            if block.broken:
                batch = _with_broken_rows(batch, block.broken, escape)
            writer = writer or open_writer(sink, batch.schema)
            writer.write_batch(batch)
        if rows == unscored and chunks.skipped_:
            first = chunks.skipped_[0]
            raise DataError(f"no row of {first.file} could be scored: {first.where}: {first.reason}")
        if writer is None and not kept:
            own += [] if top is None else [ROW]
            kept = [pa.record_batch({name: pa.array(np.empty(0)) for name in [*copied.values(), *own]})]
        for batch in kept:
            writer = writer or open_writer(sink, batch.schema)
            writer.write_batch(batch)
        writer.close()
    written = rows if top is None else sum(batch.num_rows for batch in kept)
    return Prediction(written, unscored, (), marked, called, rows - unscored)


def _without_scores(batch: Any, finite: np.ndarray) -> Any:
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


def _with_broken_rows(batch: Any, broken: Sequence[BrokenRow], escape: bool) -> Any:
    """Scored rows and those without a score, in the order of the file."""
    import pyarrow as pa

    lines = []
    for row in broken:
        columns = [] if row.kept is None else row.kept.columns
        copied = dict(zip(batch.schema.names, map(_escaped, columns) if escape else columns, strict=False))
        cells = {
            name: copied.get(name, pa.nulls(1, kind))
            for name, kind in zip(batch.schema.names, batch.schema.types, strict=True)
        }
        cells[REASON] = pa.array([row.reason])
        lines.append(pa.record_batch(cells).cast(batch.schema))
    whole = pa.Table.from_batches([batch, *lines])
    places = np.concatenate([np.arange(batch.num_rows) + 0.5, [row.place for row in broken]])
    return whole.take(np.argsort(places, kind="stable")).combine_chunks().to_batches()[0]


def _escaped(column: Any) -> Any:
    """A column with an apostrophe before texts that look like formulas; numbers stay as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    number = r"^ *[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$"

    if type_kind(column.type) != "string":
        return column
    texts = column.cast(pa.string())
    is_number = pc.match_substring_regex(texts, number)  # columns of CSV are copied as text
    is_formula = pc.and_not(pc.match_substring_regex(texts, _FORMULA), is_number)
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)


def check_out(path: Path) -> str:
    """Return the format of an output file by its name; refuse other names, and directories that do not exist."""
    kind = next((kind for kind in KINDS if path.name.lower().endswith(kind)), None)
    if kind is None:
        raise DataError(f"{path} must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent} is not a directory: make it first")
    return kind
