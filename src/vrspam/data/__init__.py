"""Data by name (`load`), and files of any size read in blocks (`read_chunks`)."""

from vrspam.data.chunks import Chunks, read_chunks
from vrspam.data.readers.base import DataError, Skipped
from vrspam.data.registry import Dataset, available, cache_directory, load
from vrspam.data.schema import Schema

__all__ = ["Chunks", "DataError", "Dataset", "Schema", "Skipped", "available", "cache_directory", "load", "read_chunks"]
