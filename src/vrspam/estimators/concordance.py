"""`ConcordanceRanker` and `ConcordanceRankerCV`: rank rows by a number or by times with censoring, exactly."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d

from vrspam import metrics
from vrspam._utils import validation
from vrspam._utils.parameters import checks_parameters, constructor_without
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import ScoredAcrossStrata, warn
from vrspam.estimators.base import share_estimator_texts
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier
from vrspam.features.mapped import is_plain
from vrspam.metrics.concordance import canonical_target
from vrspam.pairs import LossChoice, Ranked
from vrspam.tables.frames import needs_reading


def _of_target(y: Any, event: Any) -> tuple[np.ndarray, np.ndarray, str]:
    """Times and events of a target, and what makes a row rank higher: "event" or "y"."""
    structured = getattr(getattr(y, "dtype", None), "names", None) is not None
    if not structured:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind not in "biuf":
            try:
                y = y.astype(np.float64)
            except (TypeError, ValueError):
                raise ValueError(
                    "y must hold numbers, larger ones for rows that should rank higher, or times with event=: text has "
                    "no order."
                ) from None
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity: leave out the rows without a target.")
    time, happened = canonical_target(y, event)
    return time, happened, "event" if structured or event is not None else "y"


class Ranker(BaseEstimator):
    """Base of both rankers, on top of an estimator of two classes: their target, their score and their tags."""

    max_fpr = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = None, None
        tags.array_api_support = False
        return tags

    @property
    def partial_fit(self):
        """Not available: later rows form pairs with rows that are no longer in memory."""
        raise AttributeError("A ranker needs all rows at once: use fit.")

    fit_stream = fit_moments = partial_fit

    def _rows_and_loss(
        self, X: Any, y: Any, event: Any, strata: Any, sample_weight: Any, table: bool = False
    ) -> tuple[Rows, LossChoice]:
        """Validated rows, whose y are two classes that stand for the target, and the loss on the pairs that count."""
        target = None if y is None else _of_target(y, event)
        rows = self._validate_rows(X, None if target is None else np.zeros(target[0].size), sample_weight, table=table)
        assert target is not None
        time, happened, higher = target
        if not happened.any():
            raise ValueError("No row has its event: with all rows censored no two of them can be compared.")
        numbers = None if strata is None else validation.numbers_of(strata, time.size, "strata", "stratum")
        numbers = None if numbers is None or numbers.max(initial=0) == 0 else numbers
        counted = slice(None) if rows.weights is None else rows.weights > 0.0
        self._higher = higher
        if numbers is None and happened[counted].all() and np.unique(time[counted]).size == 2:
            return rows._replace(y=time < time[counted].max()), self._loss  # two classes: the AUC
        pairs = Ranked(-time, happened, numbers, self.strata_weight == "strata")
        return rows._replace(y=pairs.upper), self._loss_of_pairs(rows, pairs)

    def _as_ranker(self, rows: Rows, loss: LossChoice) -> Self:
        """Set the attributes of a ranker, and remove those of a classifier."""
        self.higher_ = self.__dict__.pop("_higher")
        if not hasattr(self, "pairs_"):
            weights = np.ones(rows.y.size) if rows.weights is None else rows.weights
            self.pairs_ = float(weights[rows.y].sum() * weights[~rows.y].sum())
        self._inside_strata = loss.pairs.units is not None
        self.__dict__.pop("classes_", None)
        return self

    def predict(self, X) -> np.ndarray:
        """Scores of the rows: the higher, the higher the row ranks.

        After a fit with events, or a structured y, a score is a risk: rows with higher scores are expected to have
        earlier events, as in scikit-survival. Otherwise they are expected to have a larger y. Scores have no unit.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X)

    def score(self, X, y, *, event=None, strata=None, sample_weight=None) -> float:
        """Harrell's concordance index: the share of comparable pairs that the scores put in order.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            As in `fit`: numbers, times with `event`, or a structured array of events and times.
        sample_weight, event, strata : array-like of shape (n_samples,), optional
            As in `fit`. A model that was fitted with strata warns without them.

        Returns
        -------
        float
            `vrspam.metrics.concordance_index`; NaN, with a warning, where no two rows can be compared.
        """
        scores = self.predict(X)
        time, happened, higher = _of_target(y, event)
        if higher != self.higher_:
            raise ValueError(
                "This model ranks earlier events higher: give score the events too."
                if self.higher_ == "event"
                else "This model ranks larger y higher, and was fitted without events: leave event out."
            )
        if strata is None and getattr(self, "_inside_strata", False):
            warn(ScoredAcrossStrata())
        more = {"strata": strata, "sample_weight": sample_weight, "strata_weight": self.strata_weight}
        return metrics.concordance_index(time, scores, event=happened, **more)


@share_estimator_texts
class ConcordanceRanker(Ranker, AUCClassifier):  # type: ignore[misc]
    """The linear scorer that ranks rows by a number, or by times with censoring, at the least pairwise loss; exact.

    Of two rows (i, j) that can be compared, i should score higher than j. The ranker minimises

        F(w) = κ · mean over these pairs (i, j) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁

    where κ is the share of all ordered pairs of rows that can be compared: pq for two classes, where this ranker is
    `AUCClassifier`. No array of pairs is made: X is read once.

    Which way a score points: without events, rows of larger y score higher. With `event`, or a structured y, y are
    times, and rows with an earlier event score higher: a score is a risk, as in scikit-survival (the c-index of
    lifelines takes the opposite sign). A censored row, whose event is False, can only be the lower one of a pair, below
    a row whose event came before, or at the same time.

    Parameters
    ----------
    l2, l1, loss, penalty, gamma, monotonic_cst, positive, bounds, tol, max_iter, random_state
        As in `AUCClassifier`, with κ in place of pq. ``loss="squared_hinge"`` keeps about log2(n) numbers for each row.
    {strata_weight}

    Attributes
    ----------
    coef_, intercept_, gap_, stationarity_, objective_, l2_, n_iter_, solver_, history_, n_features_in_, \
feature_names_in_
        As in `AUCClassifier`. `intercept_` puts the score 0 half-way between the means of upper and lower rows.
    {pairs_, higher_}
    moments_ : PairMoments
        The sums over pairs the solution came from, when `solver_` is "moments"; `vrspam.coef_path` takes them.

    See Also
    --------
    ConcordanceRankerCV : with penalties and feature maps chosen by cross-validation.
    vrspam.metrics.concordance_index : what `score` returns.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ConcordanceRanker
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 3))
    >>> months = rng.exponential(np.exp(-X[:, 0]))  # of rows with a large first column the event comes early
    >>> died = rng.random(300) < 0.6
    >>> model = ConcordanceRanker().fit(X, months, event=died)
    >>> round(float(model.coef_[0, 0]), 1), round(model.score(X, months, event=died), 2)
    (0.4, 0.73)
    """

    _works_on_devices = False
    __init__ = constructor_without(AUCClassifier, "max_fpr")

    @checks_parameters(skip_nested=True)
    def fit(self, X, y, *, event=None, strata=None, sample_weight=None) -> Self:
        """Find the optimum for the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Numbers, larger ones ranking higher; with `event`, times, where an earlier event ranks higher. Or a
            structured array with a field of booleans, the events, and one of times, as in scikit-survival.
        sample_weight : array-like of shape (n_samples,), optional
            Pairs weigh the product of the weights of their rows.
        event : array-like of shape (n_samples,), optional
            True, or 1, where y is the time of the event; False, or 0, where the row was censored then.
        strata : array-like of shape (n_samples,), optional
            Queries, sites: only pairs of rows of the same stratum count.

        Returns
        -------
        self
        """
        rows, loss = self._rows_and_loss(X, y, event, strata, sample_weight)
        self._fit_rows(rows, np.array([False, True]), loss)
        return self._as_ranker(rows, loss)


@share_estimator_texts
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
    {strata_weight}
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
    {pairs_, higher_}
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
