# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .onnx_graphs import to_onnx
from .python import NotExportable, to_python
from .sql import to_sql

__all__ = ["NotExportable", "to_onnx", "to_python", "to_sql"]
