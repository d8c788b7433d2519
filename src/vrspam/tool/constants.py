"""The constants of the paper for the rows of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from vrspam import AUCClassifier, ClassMoments
from vrspam.theory import Description, describe
from vrspam.tool.scaling import Scaling
from vrspam.tool.table import open_labelled


def constants(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    l2: float | None = None,
    theta: float = 0.5,
    epsilon: float = 1e-6,
    raw: bool = False,
    **opening: Any,
) -> Description:
    """`vrspam.theory.describe` for a file, at the exact optimum of its rows.

    Parameters
    ----------
    path, target, positive, **opening
        As in `vrspam.tool.table.open_labelled`.
    l2 : float, optional
        By default that of `AUCClassifier(l2="auto")`.
    theta, epsilon : float
        As in `describe`.
    raw : bool, default=False
        Take the features as they are; by default they are standardised, as `vrspam train` does.

    Returns
    -------
    Description
    """
    X, labels = open_labelled(path, target, positive, **opening).load()
    if not raw:
        moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False).update(X, labels)
        X = Scaling.of(moments, sparse.issparse(X))(X)
    fitted = AUCClassifier("auto" if l2 is None else l2).fit(X, labels)
    coef = fitted.coef_[0]
    return describe(X, labels, fitted.l2_, theta=theta, epsilon=epsilon, coef=coef if np.any(coef) else None)
