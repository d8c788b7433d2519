"""All compiled loops, by subject. A file is imported when a name in it is first used, because that loads Numba.

`__init__.pyi` lists the names that are used outside of this folder. A penalty is a named tuple of numbers; a loop calls
its prox as `prox1`, and a penalty that is defined elsewhere is added with `register_prox`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
