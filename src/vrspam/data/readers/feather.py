"""Arrow IPC files, also called Feather."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vrspam._utils.validation import plain_arrow
from vrspam.data.readers.arrow import ArrowReader, OpenedFile, as_arrow_takes
from vrspam.data.readers.block import as_table


class FeatherReader(ArrowReader):
    """Arrow IPC files, also called Feather, record batch by record batch."""

    name = "feather"
    title = "Feather"
    suffixes = (".feather", ".arrow", ".ipc")
    magic = b"ARROW1"
    called = "an Arrow file"
    group_called = "record batch"

    def read_file(self, path: str) -> OpenedFile:
        import pyarrow as pa

        # data are not memory-mapped: mapped pages would count as memory of this process
        named = as_arrow_takes(path)
        file = pa.ipc.open_file(pa.OSFile(path) if named == path else named)
        # touches the heads of the batches only
        mapped = pa.ipc.open_file(pa.memory_map(path) if named == path else as_arrow_takes(path))

        def batches(group: int, rows: int, columns: list[str]) -> Iterator[Any]:
            whole = plain_arrow(as_table(file.get_batch(group), columns))
            yield from whole.to_batches(max_chunksize=rows)

        group_rows = [mapped.get_batch(group).num_rows for group in range(file.num_record_batches)]
        return OpenedFile(plain_arrow(file.schema.empty_table()).schema, group_rows, batches)
