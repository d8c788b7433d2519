"""`predict`: scores for a file of any size, block by block."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vrspam._utils.findings import Fix, Note
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.data.stream import Pass
from vrspam.model.model import Model
from vrspam.tool.options import one_or_more
from vrspam.tool.plan import check_option
from vrspam.tool.promises import share_of_calls_note
from vrspam.tool.score_blocks import open_rows
from vrspam.tool.write_scores import (
    EXTRAPOLATED,
    FORMULA,
    OWN,
    REASON,
    Layout,
    Prediction,
    RowWithoutScore,
    check_out,
    write_scores,
)


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
    prediction = predict_rows(model, path, out, ids, top, escape_formulas, drop_errors, progress=progress, **reading)
    if prediction.unscored:
        warn(describe_unscored(prediction.unscored, top))
    if prediction.unseen:
        warn(UnseenValues(prediction.unseen))
    return prediction.rows


def describe_unscored(count: int, top: int | None) -> Note:
    """The warning that rows cannot be scored, and what became of them."""
    rows = f"{count:,} row{'' if count == 1 else 's'} cannot be scored"
    if top is not None:
        return Note(f"{rows}, and cannot be among the highest: without ", Fix("top"), ", `predict` says why")
    words = f"{rows}: the score is empty there, and the column {REASON!r} says why; "
    return Note(words, Fix("drop_errors", True), " leaves such rows out")


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
    escapes = escape_formulas and check_out(target) != ".parquet"
    copied: dict[str, str] = {}  # columns to copy, and their names in the result: known when the file is opened

    def choose(names: Mapping[str, Any]) -> list[str]:
        if ids is not None:
            check_ids(ids, names, source.paths[0])
        for name in _columns_to_copy(model, ids):
            if name in names:
                copied[name] = _name_in_result(name, escapes)
        return list(copied)

    keeps_errors = top is not None or not drop_errors  # numbers of rows count those without a score too
    stream = open_rows(model, path, labels=False, keep=choose, on_error="keep" if keeps_errors else "skip", **reading)
    source = stream.source
    if ids:
        source.check_named("ids")

    layout = Layout.of(model, stream, copied, escapes=escapes, reasons=False)
    reading_of_rows = stream.read()
    try:
        prediction = write_scores(model, reading_of_rows, layout, target, top)
    except RowWithoutScore:  # once more, with a column of reasons from the start
        layout = Layout.of(model, stream, copied, escapes=escapes, reasons=True)
        reading_of_rows = stream.read()
        prediction = write_scores(model, reading_of_rows, layout, target, top)
    return prediction._replace(unseen=tuple(_notes(model, reading_of_rows, copied, prediction)))


def check_ids(ids: Sequence[str], names: Mapping[str, Any], path: Any) -> None:
    """Refuse columns to copy that the file lacks, or that the result has itself."""
    for name in ids:
        if name not in names:
            raise DataError(f"{path} has no column {name!r} to copy beside the scores")
        if name in OWN:
            raise DataError(f"column {name!r} cannot be copied: the result has a column of that name")


def _columns_to_copy(model: Model, ids: Sequence[str] | None) -> list[str]:
    """The columns to copy, each once: those asked for, or identifiers, groups and strata of the training."""
    names: list[Any] = list(ids or ())
    if ids is None:
        names = [*model.identifiers, model.training.get("groups"), model.training.get("within")]
    return [str(name) for name in dict.fromkeys(names) if name is not None]


def _name_in_result(name: str, escapes: bool) -> str:
    """The name of a copied column, which must not be one of the result's own."""
    if name in OWN:
        name = f"{name} (of the file)"
    return f"'{name}" if escapes and re.match(FORMULA, name) else name


def _notes(model: Model, reading: Pass, copied: Mapping[str, str], prediction: Prediction) -> list[str]:
    """Columns that were renamed, values new since training, and another share of calls than in training."""
    source = reading.stream.source
    notes: list[str] = []
    for name, new in copied.items():
        if name in OWN:
            notes.append(
                f"the identifier {name!r} of {source.paths[0]} is copied as {new!r}, because the result has a column "
                f"{name!r} of its own"
            )
    if reading.unseen is not None:
        notes += reading.unseen.sentences(None if source.reader.sparse else EXTRAPOLATED)
    other_share = share_of_calls_note(model.threshold, model.training, prediction.called, prediction.scored)
    if other_share is not None:
        notes.append(other_share)
    return notes
