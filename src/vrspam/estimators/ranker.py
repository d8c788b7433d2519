"""`ConcordanceRanker`: rank rows by a number, or by times with censoring, exactly."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import column_or_1d

from vrspam import metrics
from vrspam._utils import validation
from vrspam._utils.parameters import StrOptions, check_parameters, checks_parameters
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import ScoredAcrossStrata, warn
from vrspam.estimators import base
from vrspam.estimators.base import PairwiseEstimator
from vrspam.estimators.constraints import LIMITS
from vrspam.estimators.exact_fits import fit_rows
from vrspam.metrics.concordance import canonical_target
from vrspam.moments import PairMoments
from vrspam.objective import LOSSES, PenaltyFamily
from vrspam.pairs import LossChoice, Ranked


def read_target(y: Any, event: Any) -> tuple[np.ndarray, np.ndarray, str]:
    """Times and events of a target, and what makes a row rank higher: "event" or "y".

    >>> read_target([3.0, 1.0], [True, False])
    (array([3., 1.]), array([ True, False]), 'event')
    """
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


class RankedRows(NamedTuple):
    """Validated rows whose y are two classes that stand for the target, and the loss on the pairs that count."""

    rows: Rows
    loss: LossChoice
    higher: str  # what ranks higher: an earlier "event", or a larger "y"


class PairwiseRanker(PairwiseEstimator):
    """Base of both rankers: their target, their score and their attributes."""

    max_fpr = None
    strata_weight: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags

    @property
    def partial_fit(self):
        """Not available: later rows form pairs with rows that are no longer in memory."""
        raise AttributeError("A ranker needs all rows at once: use fit.")

    fit_stream = fit_moments = partial_fit

    def _ranked_rows(
        self, X: Any, y: Any, event: Any, strata: Any, sample_weight: Any, table: bool = False
    ) -> RankedRows:
        """Validate the rows and their target; which pairs count follows from times, events and strata."""
        if y is None:
            self._validate_rows(X, None, sample_weight, table=table)  # scikit-learn says that y is missing
        time, happened, higher = read_target(y, event)
        rows = self._validate_rows(X, np.zeros(time.size), sample_weight, table=table)
        if not happened.any():
            raise ValueError("No row has its event: with all rows censored no two of them can be compared.")
        stratum = None
        if strata is not None:
            stratum = validation.numbers_of(strata, time.size, "strata", "stratum")
            if stratum.max(initial=0) == 0:  # one stratum holds all rows
                stratum = None

        counted = slice(None) if rows.weights is None else rows.weights > 0.0
        if stratum is None and happened[counted].all() and np.unique(time[counted]).size == 2:
            two_classes = rows._replace(y=time < time[counted].max())
            return RankedRows(two_classes, self._loss, higher)  # the AUC
        pairs = Ranked(-time, happened, stratum, self.strata_weight == "strata")
        return RankedRows(rows._replace(y=pairs.upper), self._loss_of_pairs(rows, pairs), higher)

    def _keep_ranking(self, ranked: RankedRows) -> None:
        """Assign the attributes of a ranker, and remove that of a classifier."""
        rows, loss, higher = ranked
        self.higher_ = higher
        if not hasattr(self, "pairs_"):
            weights = np.ones(rows.y.size) if rows.weights is None else rows.weights
            self.pairs_ = float(weights[rows.y].sum() * weights[~rows.y].sum())
        self._inside_strata = loss.pairs.units is not None
        del self.classes_

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
        time, happened, higher = read_target(y, event)
        if higher != self.higher_:
            if self.higher_ == "event":
                raise ValueError("This model ranks earlier events higher: give score the events too.")
            raise ValueError("This model ranks larger y higher, and was fitted without events: leave event out.")
        if strata is None and self._inside_strata:
            warn(ScoredAcrossStrata())
        return metrics.concordance_index(
            time,
            scores,
            event=happened,
            strata=strata,
            sample_weight=sample_weight,
            strata_weight=self.strata_weight,
        )


class ConcordanceRanker(PairwiseRanker):
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
    strata_weight : {"pairs", "strata"}, default="pairs"
        With `strata`: "pairs" gives all pairs inside strata the same weight, "strata" gives it to all strata.

    Attributes
    ----------
    coef_, intercept_, gap_, stationarity_, objective_, l2_, n_iter_, solver_, history_, n_features_in_, \
feature_names_in_
        As in `AUCClassifier`. `intercept_` puts the score 0 half-way between the means of upper and lower rows.
    pairs_ : float
        The number of pairs that can be compared; with weights the sum of c_i c_j.
    higher_ : {"event", "y"}
        What ranks higher: an earlier event, or a larger y.
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

    moments_: PairMoments
    _parameter_constraints: dict = {
        **base.PENALTY_CONSTRAINTS,
        "loss": [StrOptions(set(LOSSES))],
        **base.CHOSEN_PENALTY,
        **LIMITS,
        "strata_weight": [StrOptions({"pairs", "strata"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        l2="auto",
        l1=0.0,
        *,
        loss="squared",
        penalty="elasticnet",
        gamma=None,
        monotonic_cst=None,
        positive=False,
        bounds=None,
        strata_weight="pairs",
        tol=1e-8,
        max_iter=1000,
        random_state=None,
    ):
        self.l2 = l2
        self.l1 = l1
        self.loss = loss
        self.penalty = penalty
        self.gamma = gamma
        self.monotonic_cst = monotonic_cst
        self.positive = positive
        self.bounds = bounds
        self.strata_weight = strata_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _validate_params(self) -> None:
        check_parameters(self)
        PenaltyFamily(self.penalty, self.gamma).check(self.l1)

    @property
    def _loss(self) -> LossChoice:  # type: ignore[override]
        return LossChoice(self.loss)

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
        ranked = self._ranked_rows(X, y, event, strata, sample_weight)
        fit_rows(self, ranked.rows, np.array([False, True]), ranked.loss)
        self._keep_ranking(ranked)
        return self
