"""Exact fits on clusters: the moments of all blocks are added up and solved locally.

Dask needs the extra `dask`, Spark the extra `spark`; each is imported where it is asked for.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from vrspam._utils.messages import MissingExtra, require

if TYPE_CHECKING:
    from vrspam.distributed.spark import SparkAUCClassifier, SparkAUCClassifierCV

try:
    require("dask", "dask")  # its message says what to install; a failed import below would not
except MissingExtra:
    if find_spec("pyspark") is None:  # with Spark alone, only the names of Dask are missing
        raise
else:
    from vrspam.distributed.dask import DaskAUCClassifier, DaskAUCClassifierCV

__all__ = ["DaskAUCClassifier", "DaskAUCClassifierCV", "SparkAUCClassifier", "SparkAUCClassifierCV"]


def __getattr__(name: str) -> Any:
    if name in ("SparkAUCClassifier", "SparkAUCClassifierCV"):
        require("spark", "pyspark")
        from vrspam.distributed import spark

        return getattr(spark, name)
    if name in __all__:
        require("dask", "dask")
    raise AttributeError(f"module 'vrspam.distributed' has no attribute {name!r}")
