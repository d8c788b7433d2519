"""Data by name, and readers of files of any size in blocks."""

from vrspam.data.errors import DataError
from vrspam.data.files import cache_directory
from vrspam.data.named import Dataset, available, load

__all__ = ["DataError", "Dataset", "available", "cache_directory", "load"]
