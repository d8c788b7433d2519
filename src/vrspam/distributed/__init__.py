"""Exact fits on Dask clusters: moments of each block, added up in a tree, solved locally. Needs the extra `dask`."""

from vrspam._utils.messages import require

require("dask", "dask")  # before the imports below fail without a word on what to do

# ruff: noqa: E402
from vrspam.distributed.dask import DaskAUCClassifier, DaskAUCClassifierCV

__all__ = ["DaskAUCClassifier", "DaskAUCClassifierCV"]
