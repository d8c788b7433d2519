"""Exact fits on Dask clusters: the moments of all blocks are added up and solved locally. Needs the extra `dask`."""

from vrspam._utils.messages import require

require("dask", "dask")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
from vrspam.distributed.dask import DaskAUCClassifier, DaskAUCClassifierCV

__all__ = ["DaskAUCClassifier", "DaskAUCClassifierCV"]
