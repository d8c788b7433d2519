"""Models for other programs: ONNX graphs, plain Python, SQL, and converters for skl2onnx.

The public names are listed in `__init__.pyi`. Each is imported on first use: plain Python and SQL do not need the
packages of the extra `onnx`. If `skl2onnx` was imported before, the converters are registered at once.
"""

import sys

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

if "skl2onnx" in sys.modules:
    from vrspam.export.onnx_graphs import register_skl2onnx

    register_skl2onnx()
