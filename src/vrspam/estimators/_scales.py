"""Columns of very different scale, which a penalty does not treat alike."""

from __future__ import annotations

import numpy as np

from vrspam._utils.validation import column_names
from vrspam._utils.warnings import RawColumns, warn
from vrspam.estimators.base import AUCClassifierBase
from vrspam.moments import ClassMoments
from vrspam.moments.spread import spread

MOST_RATIO = 100.0  # of the largest standard deviation to the smallest positive one


def warn_of_raw_columns(estimator: AUCClassifierBase, moments: ClassMoments, l2: float) -> None:
    """Warn where l2 shrinks the columns very differently because their deviations are; for dense columns."""
    deviations = spread(moments)[1]
    varying = np.flatnonzero(deviations)
    if l2 == 0.0 or varying.size == 0:
        return
    largest = varying[np.argmax(deviations[varying])]
    smallest = varying[np.argmin(deviations[varying])]
    ratio = float(deviations[largest] / deviations[smallest])
    if ratio > MOST_RATIO:
        names = column_names(estimator)
        warn(RawColumns(str(names[largest]), str(names[smallest]), ratio))
