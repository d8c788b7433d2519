"""Linear scorers that maximise the area under the ROC curve, with certificates.

The public names are listed in `__init__.pyi`. Each is imported on first use, so `import vrspam` costs next to nothing
and does not load Numba.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
