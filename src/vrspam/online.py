"""AUC models for river, which learn from one row after the other, or from frames. Needs the extra `river`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

from vrspam._utils.extras import require

require("river", "river")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
import numpy as np
from river import base
from river.utils import dataframe
from scipy.special import expit

from vrspam._utils.array_api import padded
from vrspam._utils.arrays import own_arrays
from vrspam._utils.warnings import NotConverged, warn
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, Objective, l2_unit
from vrspam.solvers import solve
from vrspam.solvers.online import OPAUC, SOLAM, SPAM, diverged, largest_square, step_rule

__all__ = ["RiverAUC"]

BUFFERED_ROWS = 256  # rows that are gathered before they are added to the moments: one product is quicker than many


class Scorer(NamedTuple):
    """Coefficients, and what the scores of both classes look like: their means, common variance, and weights."""

    coef: np.ndarray
    low: float
    high: float
    variance: float
    weights: tuple[float, float]  # of the negative and of the positive class

    def log_odds(self, rows: np.ndarray) -> np.ndarray:
        """Return the log-odds of the positive class if the scores of both classes are normal with one variance.

        They never fall with the score: a gap between the class means below 0.1 % of the spread is raised to that. The
        square of the gap, divided by the number of rows, is added to the variance, which is 0 for two rows.
        """
        scores = rows[:, : self.coef.size] @ self.coef[: rows.shape[1]]
        negative, positive = self.weights
        gap = max(self.high - self.low, 1e-3 * np.sqrt(self.variance))
        variance = self.variance + gap**2 / (negative + positive)
        slope = gap / variance if variance > 0.0 else 0.0
        return np.log(positive / negative) + slope * (scores - (self.low + self.high) / 2.0)


class ExactStream:
    """Moments of both classes, and the optimum for them, which is found when a prediction asks for it."""

    def __init__(self, l2: float | None, l1: float, half_life: float | None, refresh: float, tol: float):
        self.l2, self.l1, self.refresh, self.tol = l2, float(l1), refresh, tol
        self.moments = ClassMoments(classes=[False, True], half_life=half_life)
        self.waiting: list[tuple[np.ndarray, np.ndarray]] = []
        self.n_waiting = 0
        self.new_rows = 0  # since the last solution
        self.solved: Scorer | None = None
        self.gap: float | None = None

    def learn(self, rows: np.ndarray, side: np.ndarray) -> None:
        """Add rows; small blocks wait until there are enough rows for one product."""
        self.new_rows += side.size
        self.n_waiting += side.size
        self.waiting.append((rows, side))
        if self.n_waiting >= BUFFERED_ROWS:
            self._add_waiting()

    def scorer(self) -> Scorer | None:
        """Return the last solution, or a new one if there are enough new rows."""
        if self.new_rows == 0:
            return self.solved
        weight = float(self.moments.weights.sum()) + self.n_waiting
        if self.solved is None or self.new_rows >= self.refresh * weight:
            self._add_waiting()
            if self.moments.complete:  # a class may have been forgotten: the last solution stays
                self.solved = self._solve()
                self.new_rows = 0
        return self.solved

    def _add_waiting(self) -> None:
        if not self.waiting:
            return
        width, known = self.waiting[-1][0].shape[1], self.moments.n_features  # columns never become fewer
        if known is not None and width > known:
            self.moments.add_features(width - known)
        rows, start = np.zeros((self.n_waiting, width)), 0
        for block, side in self.waiting:
            rows[start : start + side.size, : block.shape[1]] = block
            start += side.size
        self.moments.add_checked(rows, np.concatenate([side for _, side in self.waiting]))
        self.waiting, self.n_waiting = [], 0

    def _solve(self) -> Scorer:
        moments, weights = self.moments, (float(self.moments.weights[0]), float(self.moments.weights[1]))
        if not moments.n_features:  # no row has had a key yet
            return Scorer(np.zeros(0), 0.0, 0.0, 0.0, weights)
        l2 = AUTO_L2_SHARE * l2_unit(moments) if self.l2 is None else self.l2
        objective = Objective.from_moments(moments, l2, self.l1)
        start = None if self.solved is None else padded(self.solved.coef, moments.n_features)
        solution = solve(objective, tol=self.tol, max_iter=1000, w0=start)
        if not np.isfinite(solution.w).all():
            raise ValueError("The solution is not finite: standardise the features, or give a larger l2.")
        if not solution.converged:
            warn(NotConverged("RiverAUC", solution.n_iter, solution.bound, measure="gap"))
        self.gap = solution.gap
        w = solution.w
        low, high = moments.means @ w
        variance = sum(float(w @ scatter @ w) for scatter in moments.scatters) / sum(weights)
        return Scorer(w, float(low), float(high), max(variance, 0.0), weights)


class StepStream:
    """A stochastic method, one step a row, and the scores that rows had before their step."""

    gap = None

    def __init__(self, name: str, l2: float | None, l1: float, step_size: float | str, sketch: int | None):
        self.l2, self.step_size = l2, step_size
        self.more: tuple[float, ...] = (float(l1),) if name == "spam" else ()
        self.method: Any = {"spam": SPAM, "solam": SOLAM}[name](0) if name != "opauc" else OPAUC(0, sketch)
        self.sums = np.zeros((2, 3))  # weight, mean, and sum of squares about it, of the scores of each class

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take arrays of its own: learning writes to them, which those of a mapped file do not allow."""
        self.__dict__.update(state)
        own_arrays(self)

    def learn(self, rows: np.ndarray, side: np.ndarray) -> None:
        """Take one step for each row."""
        method: Any = self.method
        if rows.shape[1] > method.w.size:
            method.add_features(rows.shape[1] - method.w.size)
        rows = np.ascontiguousarray(padded(rows, method.w.size, (1,)))
        rule, sides = step_rule(self.step_size, self.l2), side.astype(np.int64)
        half_life = 1000.0  # rows; probabilities follow scores of about so many rows
        for number, of_class in enumerate(sides):
            if method.n_steps > 0:
                self.sums[:, [0, 2]] *= 2.0 ** (-1.0 / half_life)
                weight, mean, squares = self.sums[of_class]
                ahead = float(rows[number] @ method.coef) - mean
                more = (weight + 1.0, mean + ahead / (weight + 1.0), squares + weight / (weight + 1.0) * ahead**2)
                self.sums[of_class] = more
            method.advance(rows, np.array([number]), sides, rule, *self.more, learn=True)
        if not np.isfinite(method.coef).all():
            raise diverged(self.step_size, 0.1 / max(largest_square(rows), 1.0))

    def scorer(self) -> Scorer:
        """The coefficients after the steps so far."""
        method = self.method
        coef, (negative, positive) = method.coef, method.counts
        seen, means, squares = self.sums.T
        # until scores of both classes are known, the class means stand for them
        low, high = np.where(seen.min() > 0.0, means, method.means @ coef)
        variance = squares.sum() / max(seen.sum(), 1.0)
        return Scorer(coef, float(low), float(high), float(variance), (float(negative), float(positive)))


class RiverAUC(base.MiniBatchClassifier):
    """A linear scorer that maximises the AUC of a stream, as a classifier of river.

    Rows are dictionaries of numbers. A key that is missing counts as 0, as in river's linear models, and a new key is a
    column that was 0 in all rows before; predictions ignore keys that no training row had.

    Parameters
    ----------
    method : {"moments", "spam", "solam", "opauc"}, default="moments"
        "moments" keeps sizes, means and covariances of both classes (d² numbers) and solves for the optimum of all rows
        so far, exactly: the coefficients of `vrspam.AUCClassifier`. The others are stochastic gradient methods, one
        step a row: `vrspam.SPAMClassifier` and `SOLAMClassifier` in O(d), `OPAUCClassifier` in O(d²).
    l2 : float or "auto", default="auto"
        Weight of the squared norm; "auto" as in these estimators, of the rows so far.
    l1 : float, default=0.0
        Weight of the absolute norm, for "moments" and "spam".
    half_life : float, optional
        For "moments": each new row multiplies the weight of all rows before it by 2^(-1/half_life), so that the model
        follows a stream that drifts.
    refresh : float, default=0.01
        For "moments": a prediction solves again when the rows since the last solution are at least this share of the
        weight of all rows (with a half-life h that weight is at most 1.44 h); else it uses the last solution. With 0,
        each prediction that follows new rows solves again. Learning never solves.
    step_size : float or "auto", default="auto"
        For the other methods, see the estimators.
    sketch : int, optional
        For "opauc": the rank of a sketch of the covariances, for many columns.
    tol : float, default=1e-8
        For "moments": relative accuracy of a solution.

    Attributes
    ----------
    weights : dict
        The coefficient of each key.
    gap : float or None
        Certificate of the last solution for the rows that it was made from: the objective is at most this far above its
        minimum. None for the stochastic methods.

    Notes
    -----
    Probabilities come from the scores of both classes, taken as normal with one variance: the one that the covariances
    give ("moments"), or that of the scores that rows had before they were learned from, with a half-life of 1,000 rows
    (the others). They rise with the score. Until rows of both classes have come, they are the share of positives after
    adding one row to each class.

    Columns of very different scale should be standardised first (`river.preprocessing.StandardScaler`), in particular
    for the stochastic methods. Their automatic l2 and step sizes divide by the number of columns so far.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from vrspam.online import RiverAUC
    >>> model = preprocessing.StandardScaler() | RiverAUC(half_life=500)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.ROCAUC())
    ROCAUC: 9...%
    """

    def __init__(
        self,
        method: str = "moments",
        l2: float | str = "auto",
        l1: float = 0.0,
        half_life: float | None = None,
        refresh: float = 0.01,
        step_size: float | str = "auto",
        sketch: int | None = None,
        tol: float = 1e-8,
    ):
        self.method = method
        self.l2 = l2
        self.l1 = l1
        self.half_life = half_life
        self.refresh = refresh
        self.step_size = step_size
        self.sketch = sketch
        self.tol = tol
        self._columns: dict[Any, int] = {}
        self._counts = [0, 0]  # rows of each class
        self._y_name: str | None = None
        self._stream = self._new_stream()

    def _new_stream(self) -> ExactStream | StepStream:
        methods = ("moments", "spam", "solam", "opauc")
        if self.method not in methods:
            raise ValueError(f"method must be one of {', '.join(methods)}, got {self.method!r}.")
        exact = self.method == "moments"
        unused = {
            "half_life": self.half_life is not None and not exact,
            "l1": self.l1 != 0.0 and self.method not in ("moments", "spam"),
            "step_size": self.step_size != "auto" and exact,
            "sketch": self.sketch is not None and self.method != "opauc",
            "refresh": self.refresh != 0.01 and not exact,
            "tol": self.tol != 1e-8 and not exact,
        }
        for name, given in unused.items():
            if given:
                raise ValueError(f"{name} has no effect with method={self.method!r}: leave it out.")
        for name in ("l2", "step_size"):
            value = getattr(self, name)
            least = 0.0 if name == "l2" else np.finfo(float).tiny
            if value != "auto" and not (isinstance(value, Real) and least <= float(value) < np.inf):
                raise ValueError(f'{name} must be "auto" or a {"non-negative" if name == "l2" else "positive"} number.')
        for name in ("l1", "refresh", "tol"):
            value = getattr(self, name)
            if not (isinstance(value, Real) and 0.0 <= float(value) < np.inf):
                raise ValueError(f"{name} must be a non-negative number, got {value!r}.")
        if self.sketch is not None and not (isinstance(self.sketch, Integral) and self.sketch >= 1):
            raise ValueError(f"sketch must be a positive integer or None, got {self.sketch!r}.")
        l2 = None if isinstance(self.l2, str) else float(self.l2)
        if exact:
            return ExactStream(l2, self.l1, self.half_life, self.refresh, self.tol)
        return StepStream(self.method, l2, self.l1, self.step_size, self.sketch)

    @property
    def weights(self) -> dict[Any, float]:
        """The coefficient of each key; empty until rows of both classes have come."""
        scorer = self._scorer()
        if scorer is None:
            return {}
        coef = padded(scorer.coef, max(len(self._columns), scorer.coef.size))
        return {name: float(coef[column]) for name, column in self._columns.items()}

    @property
    def gap(self) -> float | None:
        """Certificate of the last solution; None for the stochastic methods."""
        return self._stream.gap

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn from a row.

        Parameters
        ----------
        x : dict
            Numbers by name.
        y : bool
        """
        self._learn(_numbers(x.items()), x, np.array([_is_positive(y)]))

    def learn_many(self, X: Any, y: Any) -> None:
        """Learn from the rows of a data frame: the same as `learn_one` for one row after the other.

        Parameters
        ----------
        X : data frame
        y : series of bool
        """
        frame, labels = dataframe.into_frame(X), dataframe.into_series(y)
        side = np.array([_is_positive(label) for label in labels.to_list()], dtype=bool)
        rows, self._y_name = _matrix(frame), labels.name
        self._learn(rows, frame.columns, side)

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Probabilities of False and True.

        Parameters
        ----------
        x : dict
        **kwargs
            Ignored; river may pass some.

        Returns
        -------
        dict
        """
        known = {name: value for name, value in x.items() if name in self._columns}  # others were never learned from
        positive = float(self._probabilities(self._placed(_numbers(known.items()), known))[0])
        return {False: 1.0 - positive, True: positive}

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities of False and True for each row of a data frame.

        Parameters
        ----------
        X : data frame

        Returns
        -------
        data frame of the same library
        """
        frame, positive = self._probabilities_many(X)
        return dataframe.to_native_frame({False: 1.0 - positive, True: positive}, like=frame)

    def predict_many(self, X: Any) -> Any:
        """Return for each row of a data frame whether True is likelier than False.

        Parameters
        ----------
        X : data frame

        Returns
        -------
        series of the same library
        """
        frame, positive = self._probabilities_many(X)
        return dataframe.to_native_series(positive > 0.5, name=self._y_name, like=frame)

    def _learn(self, values: np.ndarray, names: Iterable[Any], side: np.ndarray) -> None:
        # New keys get columns in an order that does not depend on that of the keys in a row.
        for name in sorted((name for name in names if name not in self._columns), key=repr):
            self._columns[name] = len(self._columns)
        self._stream.learn(self._placed(values, names), side)
        positives = int(side.sum())
        self._counts[0] += side.size - positives
        self._counts[1] += positives

    def _placed(self, values: np.ndarray, names: Iterable[Any]) -> np.ndarray:
        """Return rows with the values of known keys in the columns of these keys."""
        rows = np.zeros((len(values), len(self._columns)))
        rows[:, [self._columns[name] for name in names]] = values
        return rows

    def _probabilities_many(self, X: Any) -> tuple[Any, np.ndarray]:
        """Return a data frame as river takes it, and the probabilities of the positive class for its rows."""
        frame = dataframe.into_frame(X)
        known = [name for name in frame.columns if name in self._columns]
        values = _matrix(frame.select(known)) if known else np.zeros((len(frame), 0))
        return frame, self._probabilities(self._placed(values, known))

    def _scorer(self) -> Scorer | None:
        return self._stream.scorer() if min(self._counts) > 0 else None

    def _probabilities(self, rows: np.ndarray) -> np.ndarray:
        """Probabilities of the positive class."""
        scorer = self._scorer()
        if scorer is None:
            negative, positive = self._counts
            return np.full(rows.shape[0], (positive + 1.0) / (negative + positive + 2.0))
        return expit(scorer.log_odds(rows))


def _is_positive(label: Any) -> bool:
    if isinstance(label, bool | np.bool_) or (isinstance(label, Real) and label in (0, 1)):
        return bool(label)
    raise ValueError(
        f"RiverAUC takes the labels True and False (or 1 and 0), got {label!r}: compare with the positive label first."
    )


def _numbers(items: Iterable[tuple[Any, Any]]) -> np.ndarray:
    """The values of a row as numbers, of shape (1, keys); anything else is refused by name."""
    values = []
    for name, value in items:
        if not isinstance(value, Real | np.bool_):
            raise ValueError(
                f"The value of {name!r} is {value!r}, not a number: encode it first "
                "(river.preprocessing.OneHotEncoder), or leave the key out."
            )
        values.append(float(value))
    found = np.array(values)[np.newaxis]
    if not np.isfinite(found).all():
        bad = next(name for (name, _), value in zip(items, values, strict=True) if not np.isfinite(value))
        raise ValueError(
            f"The value of {bad!r} is NaN or infinite: impute it first (river.preprocessing.StatImputer), or leave the "
            "key out, which counts as 0."
        )
    return found


def _matrix(frame: Any) -> np.ndarray:
    """The values of a frame as numbers; anything else is refused by the name of its column."""
    try:
        rows = dataframe.to_numpy(frame)
    except (TypeError, ValueError) as error:
        raise ValueError(f"A column is not numeric: encode it first ({error}).") from error
    finite = np.isfinite(rows).all(axis=0)
    if not finite.all():
        raise ValueError(
            f"Column {frame.columns[int(np.argmin(finite))]!r} holds NaN or infinity: impute it first, or fill it with "
            "0, which is what a missing key counts as."
        )
    return rows
