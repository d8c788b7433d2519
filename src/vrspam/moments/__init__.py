"""Sufficient statistics of the squared pair loss: class sizes, means and scatters."""

from vrspam.moments._coded import CodedRows, Indicated
from vrspam.moments._finished import FinishedMoments, LastProduct
from vrspam.moments._rounding import UNIT, gamma
from vrspam.moments.base import AddableSums, PairErrors, PairSums
from vrspam.moments.class_moments import ClassMoments, one_vs_rest_moments
from vrspam.moments.pairs import PairMoments, RankedPairs
from vrspam.moments.sliding import SlidingMoments

__all__ = [
    "UNIT",
    "AddableSums",
    "ClassMoments",
    "CodedRows",
    "FinishedMoments",
    "Indicated",
    "LastProduct",
    "PairErrors",
    "PairMoments",
    "PairSums",
    "RankedPairs",
    "SlidingMoments",
    "gamma",
    "one_vs_rest_moments",
]
