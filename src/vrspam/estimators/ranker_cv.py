"""`ConcordanceRankerCV`: a ranker with penalties and feature maps chosen by cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Self

import numpy as np

from vrspam._utils.names import SELECTION_RULES
from vrspam._utils.parameters import HasMethods, Instance, StrOptions, check_parameters, checks_parameters
from vrspam.estimators import base
from vrspam.estimators.constraints import LIMITS
from vrspam.estimators.explained import ExplainedEstimator
from vrspam.estimators.ranker import PairwiseRanker
from vrspam.estimators.search import AS_THEY_ARE, ColumnsOfFrames, check_grid, run_search, takes_raw_columns
from vrspam.features.names import SPELLED_NAMES
from vrspam.objective import LOSSES
from vrspam.pairs import LossChoice


class ConcordanceRankerCV(PairwiseRanker, ExplainedEstimator):
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

    _auto_has_labelled_trees = False  # whether "auto" compares trees that learn from labels
    scoring = "auto"
    calibration = None
    threshold = None
    _parameter_constraints: dict = {
        "l2s": [StrOptions({"auto"}), "array-like"],
        "l1s": [StrOptions({"auto"}), "array-like"],
        "loss": [StrOptions(set(LOSSES))],
        **base.CHOSEN_PENALTY,
        "strata_weight": [StrOptions({"pairs", "strata"})],
        "cv": ["cv_object"],
        "selection": [StrOptions(set(SELECTION_RULES))],
        "features": [
            StrOptions(SPELLED_NAMES),
            *map(Instance, (list, tuple, dict)),
            HasMethods("fit", "transform"),
        ],
        **LIMITS,
        "tol": base.PENALTY_CONSTRAINTS["tol"],
        "max_iter": base.PENALTY_CONSTRAINTS["max_iter"],
        "n_jobs": [Instance(Integral), None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        l2s="auto",
        l1s=(0.0,),
        *,
        loss="squared",
        penalty="elasticnet",
        gamma=None,
        strata_weight="pairs",
        cv=5,
        selection="auto",
        features="linear",
        monotonic_cst=None,
        positive=False,
        bounds=None,
        tol=1e-8,
        max_iter=1000,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.l2s = l2s
        self.l1s = l1s
        self.loss = loss
        self.penalty = penalty
        self.gamma = gamma
        self.strata_weight = strata_weight
        self.cv = cv
        self.selection = selection
        self.features = features
        self.monotonic_cst = monotonic_cst
        self.positive = positive
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _validate_params(self) -> None:
        check_parameters(self)
        check_grid(self)

    @property
    def _loss(self) -> LossChoice:  # type: ignore[override]
        return LossChoice(self.loss)

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
        return self._fit(X, y, event=event, strata=strata, sample_weight=sample_weight, groups=groups)

    def _fit(
        self,
        X,
        y,
        *,
        event=None,
        strata=None,
        sample_weight=None,
        groups=None,
        columns: ColumnsOfFrames = AS_THEY_ARE,
    ) -> Self:
        """`fit`; `columns` says how those of a frame are taken."""
        table = not takes_raw_columns(self.features, X)
        ranked = self._ranked_rows(X, y, event, strata, sample_weight, table)
        run_search(self, ranked.rows, np.array([False, True]), ranked.loss, groups, columns)
        self._keep_ranking(ranked)
        return self
