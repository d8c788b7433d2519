"""Which pairs of rows count: all pairs of two classes, or those of ranked rows, inside strata or of censored times."""

from vrspam.pairs.base import Pairs
from vrspam.pairs.loss import SQUARED, LossChoice
from vrspam.pairs.ranked import Ranked, whole_units
from vrspam.pairs.two_classes import TWO_CLASSES, TwoClasses

__all__ = ["SQUARED", "TWO_CLASSES", "LossChoice", "Pairs", "Ranked", "TwoClasses", "whole_units"]
