"""`ConcordanceRankerCV`: a ranker with penalties and feature maps chosen by cross-validation."""

from __future__ import annotations

from typing import Self

import numpy as np

from vrspam._utils.parameters import checks_parameters, constructor_without
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.ranker import Ranker
from vrspam.features.mapped import is_plain
from vrspam.tables.frames import needs_reading


class ConcordanceRankerCV(Ranker, AUCClassifierCV):  # type: ignore[misc]
    """`ConcordanceRanker` with penalties, and feature maps, chosen by cross-validation of the concordance index.

    At each point of the grid and on the training part of each fold it minimises, exactly, what `ConcordanceRanker`
    does, and takes the concordance of the pairs inside the validation part. Which way a score points: without events,
    rows of larger y score higher; with `event`, or a structured y, rows with an earlier event do.

    Parameters
    ----------
    l2s, l1s, loss, penalty, gamma, cv, selection, monotonic_cst, positive, bounds, tol, max_iter, n_jobs, \
random_state, verbose
        As in `AUCClassifierCV`, with κ, the share of ordered pairs that can be compared, in place of pq. A number of
        folds spreads events and ranks evenly over them.
    strata_weight : {"pairs", "strata"}, default="pairs"
        With `strata`: "pairs" gives all pairs inside strata the same weight, "strata" gives it to all strata.
    features : str, transformer, list of these, or dict, default="linear"
        As in `AUCClassifierCV`. The trees of "forest" and "boosted" learn for each row the share of its pairs in which
        it is the upper one, weighted by the number of pairs; "auto" does without these trees.

    Attributes
    ----------
    best_score_ : float
        Mean concordance over the validation folds at the chosen point; too high, because the point was chosen by it.
    corrected_score_, corrected_interval_ : float, tuple of two floats
        That concordance, corrected for the choice, and its 95 % interval: what to expect of new rows.
    auc_path_, score_path_ : ndarray of shape (len(l2s), len(l1s), folds)
        The concordance on each validation part. Likewise the column `auc` of `selection_`.
    pairs_ : float
        The number of pairs that can be compared; with weights the sum of c_i c_j.
    higher_ : {"event", "y"}
        What ranks higher: an earlier event, or a larger y.
    coef_, intercept_, l2_, l1_, gap_, features_, selection_, shape_functions_, interactions_, importances_, \
feature_importances_, out_of_fold_, history_, n_features_in_, feature_names_in_
        As in `AUCClassifierCV`. In `out_of_fold_`, `positive` marks rows that are the upper one in most of their pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ConcordanceRankerCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3))
    >>> months, died = rng.exponential(np.exp(-(X[:, 0] ** 2))), rng.random(400) < 0.6
    >>> model = ConcordanceRankerCV(features="additive").fit(X, months, event=died)
    >>> print(f"{model.best_score_:.1f}")
    0.7
    """

    _works_on_devices = _trees_in_auto = False
    scoring, calibration, threshold = "auto", None, None
    __init__ = constructor_without(AUCClassifierCV, "max_fpr", "scoring", "calibration", "threshold")

    @checks_parameters(skip_nested=False)
    def fit(self, X, y, *, event=None, strata=None, sample_weight=None, groups=None) -> Self:
        """Choose the penalties, and the feature map, on the folds and fit them on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        y, event, strata, sample_weight
            As in `ConcordanceRanker.fit`. Folds hold out whole strata.
        groups : array-like of shape (n_samples,), optional
            Rows that belong together, which folds hold out together.

        Returns
        -------
        self
        """
        plain = is_plain(self.features, X) and not needs_reading(X)
        rows, loss = self._rows_and_loss(X, y, event, strata, sample_weight, table=not plain)
        self._fit_folded(rows, np.array([False, True]), loss, groups, plain)
        return self._as_ranker(rows, loss)
