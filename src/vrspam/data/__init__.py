"""Data by name (`load`), and files of any size read in blocks (`read_chunks`)."""

from vrspam.data.chunks import Chunks, read_chunks
from vrspam.data.infer import infer_schema
from vrspam.data.readers.problems import Skipped
from vrspam.data.registry import Dataset, available, cache_directory, load
from vrspam.tables.errors import DataError
from vrspam.tables.schema import Schema

__all__ = [
    "Chunks",
    "DataError",
    "Dataset",
    "Schema",
    "Skipped",
    "available",
    "cache_directory",
    "infer_schema",
    "load",
    "read_chunks",
]
