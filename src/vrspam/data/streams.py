"""The files of a stream read one after the other, block by block, whatever their format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from vrspam._utils.progress import Progress
from vrspam.data.array_blocks import libsvm_blocks, npy_blocks, open_npy, with_labels
from vrspam.data.arrow_blocks import arrow_blocks, arrow_types
from vrspam.data.blocks import Block
from vrspam.data.csv_blocks import csv_blocks, csv_types
from vrspam.data.errors import DataError
from vrspam.data.problems import Problems
from vrspam.data.schema import Schema
from vrspam.data.source import Source


def wanted_types(schema: Schema, keep: Iterable[str] = (), own: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the arrow type to read each column as; kept columns have their `own`, or are text."""
    import pyarrow as pa

    wanted = {name: pa.float64() for name in schema.numeric}
    wanted |= {name: pa.string() for name in schema.categorical}
    if schema.target is not None:
        plain = {"bool": pa.bool_(), "int64": pa.int64(), "double": pa.float64(), "string": pa.string()}
        wanted[schema.target] = plain[str(schema.target_type)]
    return wanted | {name: (own or {}).get(name, pa.string()) for name in keep if name not in wanted}


def table_types(source: Source) -> dict[str, Any]:
    """Return the columns of the stream's first file with their arrow types."""
    path = source.paths[0]
    return csv_types(path, source) if source.format == "csv" else arrow_types(path, source.format)


def table_blocks(
    source: Source, wanted: Mapping[str, Any], rows: int, problems: Problems
) -> Callable[[str], Iterator[Block]]:
    """Return the function that reads one file of a table in blocks."""
    if source.format == "csv":
        return lambda path: csv_blocks(path, source, wanted, problems)
    return lambda path: arrow_blocks(path, source.format, rows, wanted, problems)


def npy_stream(
    source: Source, schema: Schema, rows: int, problems: Problems, progress: Progress | None = None
) -> Iterator[Block]:
    """Yield the blocks of `.npy` files; labels are a column of them, or a file of their own."""
    wanted = [int(name) for name in schema.numeric]
    own = schema.target is not None and not schema.target.isdigit()
    column = int(schema.target) if schema.target is not None and not own else None
    blocks = follow(source, lambda path: npy_blocks(path, rows, wanted, column, problems), progress)
    if not own:
        return blocks
    labels = open_npy(str(schema.target))
    total = sum(len(open_npy(path)) for path in source.paths)
    if labels.shape != (total,):
        raise DataError(f"{schema.target} has shape {labels.shape} where {total} labels are needed")
    return with_labels(blocks, labels)


def follow(source: Source, read: Callable[[str], Iterator[Block]], progress: Progress | None) -> Iterator[Block]:
    """Read the files one after the other and say how far we are."""
    before = rows = 0
    for path in source.paths:
        size = os.path.getsize(path)
        for block in read(path):
            yield block
            rows += block.rows
            if progress:
                progress.update(before + int(size * block.done), rows)
        before += size


def libsvm_stream(source: Source, schema: Schema, problems: Problems, progress: Progress) -> Iterator[Block]:
    """Yield the blocks of LIBSVM files."""
    width = int(schema.width or 0)
    return follow(source, lambda path: libsvm_blocks(path, source, width, problems), progress)
