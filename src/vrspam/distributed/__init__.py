"""Exact fits on Dask clusters: moments of each block, added up in a tree, solved locally."""

from vrspam.distributed.classifier import DaskAUCClassifier
from vrspam.distributed.search import DaskAUCClassifierCV

__all__ = ["DaskAUCClassifier", "DaskAUCClassifierCV"]
