"""The readers of all formats, a file each (`READERS`)."""

from vrspam.data.readers.csv import CSVReader
from vrspam.data.readers.excel import ExcelReader
from vrspam.data.readers.feather import FeatherReader
from vrspam.data.readers.libsvm import LibsvmReader
from vrspam.data.readers.npy import NpyReader
from vrspam.data.readers.parquet import ParquetReader
from vrspam.data.readers.reader import Reader
from vrspam.data.readers.spreadsheet import SpreadsheetReader

#: Every format that can be read, by its name in `format=`.
READERS: dict[str, type[Reader]] = {
    kind.name: kind
    for kind in (
        CSVReader,
        LibsvmReader,
        ParquetReader,
        FeatherReader,
        NpyReader,
        SpreadsheetReader,
        ExcelReader,
    )
}
