"""Models for other programs: ONNX graphs, plain Python and SQL.

The public names are listed in `__init__.pyi`. Each is imported on first use: plain Python and SQL do not need the
packages of the extra `onnx`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
