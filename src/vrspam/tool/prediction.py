"""Scores for a file of any size, block by block, in the order of its rows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vrspam._utils.atomic import replacing
from vrspam._utils.messages import Parameter
from vrspam.data import DataError
from vrspam.data.readers import Source
from vrspam.data.readers.arrow_reader import type_kind
from vrspam.tool.model import Model

SCORE, PROBABILITY = "score", "probability"
KINDS = (".csv", ".csv.gz", ".parquet")
FORMULA = r"^[=+\-@\t\r]"  # what spreadsheets take for the beginning of a formula, or skip before one
NUMBER = r"^[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$"


def predict(
    model: Model,
    path: Any,
    out: str | os.PathLike[str],
    *,
    ids: Sequence[str] | None = None,
    escape_formulas: bool = False,
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> int:
    """Write the score of every row of a file, and its probability if the model is calibrated.

    Parameters
    ----------
    model : Model
    path : path, directory, pattern or list of paths
        Rows with the columns of the model; labels are not needed and not read.
    out : path
        `.csv`, `.csv.gz` or `.parquet`; written whole or not at all.
    ids : sequence of str, optional
        Columns to copy before the scores. By default the identifiers that training left out, if they are there.
    escape_formulas : bool
        In CSV, write an apostrophe before copied text, and names of copied columns, that start with = + - @ or a tab.
        A spreadsheet would take them for formulas. Numbers, and Parquet, stay as they are.
    skip_errors : bool
        Leave out broken rows instead of stopping at the first.
    progress : bool
    **reading
        `format`, `delimiter` and `zero_based` of `vrspam.data.read_chunks`.

    Returns
    -------
    int
        Rows written.
    """
    import pyarrow as pa

    target = Path(out)
    source = model.open_source(path, **reading)
    keep = _ids(model, source, ids)
    chunks = model.open(source, labels=False, keep=keep, skip_errors=skip_errors, progress=progress)
    rows = 0
    with _writer(target) as write:
        for scores, _, kept in model.score_chunks(chunks):
            columns = {name: kept.column(name) for name in keep}
            names = [*keep]
            if escape_formulas and check_out(target) != ".parquet":
                columns = {name: _escaped(column) for name, column in columns.items()}
                names = [f"'{name}" if re.match(FORMULA, name) else name for name in keep]
            columns[SCORE] = pa.array(scores)
            if model.calibration is not None:
                columns[PROBABILITY] = pa.array(model.calibration(scores))
            write(pa.record_batch(list(columns.values()), names=[*names, *list(columns)[len(keep) :]]))
            rows += scores.size
        if rows == 0 and chunks.skipped_:
            raise DataError(f"no row of {path} could be scored: {chunks.skipped_[0].reason}")
        if rows == 0:
            names = [*keep, SCORE] + ([PROBABILITY] if model.calibration is not None else [])
            write(pa.record_batch({name: pa.array(np.empty(0)) for name in names}))
    return rows


def _escaped(column: Any) -> Any:
    """A column with an apostrophe before texts that look like formulas; numbers stay as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if type_kind(column.type) != "string":
        return column
    texts = column.cast(pa.string())
    is_number = pc.match_substring_regex(texts, NUMBER)  # columns of CSV are copied as text
    is_formula = pc.and_not(pc.match_substring_regex(texts, FORMULA), is_number)
    return pc.if_else(is_formula, pc.binary_join_element_wise("'", texts, ""), texts)


def _ids(model: Model, source: Source, ids: Sequence[str] | None) -> list[str]:
    if not source.reader.tabular:
        if ids:
            raise DataError(
                "a {format} file has no named columns; leave {ids} out",
                format=source.reader.title,
                ids=Parameter("ids"),
            )
        return []
    names = source.columns()
    if ids is None:
        return [name for name in model.identifiers if name in names]
    for name in ids:
        if name not in names:
            raise DataError(f"{source.paths[0]} has no column {name!r} to copy beside the scores")
        if name in (SCORE, PROBABILITY):
            raise DataError(f"column {name!r} cannot be copied: the result has a column of that name")
    return list(ids)


def check_out(path: Path) -> str:
    """The format that the name of an output file asks for; refuses other names, and directories that do not exist."""
    kind = next((kind for kind in KINDS if path.name.lower().endswith(kind)), None)
    if kind is None:
        raise DataError(f"{path} must end in {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent} is not a directory: make it first")
    return kind


@contextmanager
def _writer(target: Path) -> Iterator[Any]:
    """A function that writes a batch; the file gets its name when everything is written."""
    import pyarrow as pa
    import pyarrow.csv as arrow_csv
    import pyarrow.parquet as pq

    kind = check_out(target)
    writer: Any = None
    packing = "gzip" if kind == ".csv.gz" else None
    with replacing(target) as temporary, pa.output_stream(str(temporary), compression=packing) as sink:

        def write(batch: Any) -> None:
            nonlocal writer
            if writer is None:
                opened = pq.ParquetWriter if kind == ".parquet" else arrow_csv.CSVWriter
                writer = opened(sink, batch.schema)
            writer.write_batch(batch)

        yield write
        writer.close()
