"""From a file of rows to a model file, and from there to an evaluation, scores and pictures.

    train -> Model, saved as JSON -> evaluate, compare, predict, explain

The public names are listed in `__init__.pyi`. Each is imported on first use: reading a model file, say, does not load
what training needs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
