"""Exact fits on clusters: the moments of all blocks are added up and solved locally.

Dask needs the extra `dask`, Spark the extra `spark`; each is imported when one of its classes is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vrspam._utils.extras import require

if TYPE_CHECKING:
    from vrspam.distributed.dask import DaskAUCClassifier, DaskAUCClassifierCV
    from vrspam.distributed.spark import SparkAUCClassifier, SparkAUCClassifierCV

__all__ = ["DaskAUCClassifier", "DaskAUCClassifierCV", "SparkAUCClassifier", "SparkAUCClassifierCV"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'vrspam.distributed' has no attribute {name!r}")
    engine, module = ("spark", "pyspark") if name.startswith("Spark") else ("dask", "dask")
    require(engine, module)  # its message says what to install; a failed import would not
    return getattr(import_module(f"vrspam.distributed.{engine}"), name)
