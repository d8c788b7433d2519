"""Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vrspam._utils.validation import plain_arrow
from vrspam.data.readers.arrow import ArrowReader, OpenedFile, as_arrow_takes
from vrspam.data.readers.block import as_table


class ParquetReader(ArrowReader):
    """Parquet files, row group by row group."""

    name = "parquet"
    title = "Parquet"
    suffixes = (".parquet", ".pq")
    magic = b"PAR1"
    called = "a Parquet file"
    group_called = "row group"

    def read_file(self, path: str) -> OpenedFile:
        import pyarrow.parquet as pq

        # no pre-buffering: it would hold whole row groups, whatever their size
        file = pq.ParquetFile(as_arrow_takes(path), pre_buffer=False, buffer_size=1 << 20)

        def batches(group: int, rows: int, columns: list[str]) -> Iterator[Any]:
            for batch in file.iter_batches(rows, row_groups=[group], columns=columns):
                yield from plain_arrow(as_table(batch, columns)).to_batches()

        group_rows = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        return OpenedFile(plain_arrow(file.schema_arrow.empty_table()).schema, group_rows, batches)
