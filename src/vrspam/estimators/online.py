"""What the online estimators share: `fit` in shuffled epochs, `partial_fit` row by row."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np

from vrspam._utils.parameters import Interval, StrOptions, checks_parameters
from vrspam._utils.validation import Rows, union_of_labels
from vrspam.estimators.base import PENALTY_CONSTRAINTS, generator, warn_of_missed_tolerance
from vrspam.estimators.classifier import PairwiseClassifier
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, Objective
from vrspam.solvers import online
from vrspam.solvers.base import Solution, run
from vrspam.solvers.exact import measured_on_centred_rows, resolve_l2


class Start(NamedTuple):
    """What epochs over a data set start from: a method that knows its statistics, and the problem that it solves."""

    method: Any
    objective: Objective
    moments: ClassMoments
    l2: float


@dataclass
class Stream:
    """A method and the labels it has met, sorted; a single label is class 0 until the other one is known."""

    method: Any
    labels: np.ndarray


class StreamClassifierBase(PairwiseClassifier):
    """Base class of the online estimators: a subclass makes its method, and lets it visit rows."""

    _parameter_constraints: dict = {
        "l2": PENALTY_CONSTRAINTS["l2"],
        "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }
    _stream: Stream

    @abstractmethod
    def _new_method(self, n_features: int) -> Any:
        """A method that has not seen any rows."""

    def _start(self, rows: Rows, classes: np.ndarray) -> Start:
        """A method that knows the statistics of the rows, here the class means alone."""
        d = rows.X.shape[1]
        moments = ClassMoments(d, classes=classes, scatter=False).add_checked(rows.X, rows.y)
        l2 = resolve_l2(self.l2, moments)
        method = self._new_method(d)
        method.know(moments, online.largest_square(rows.X))
        l1 = float(getattr(self, "l1", 0.0))
        objective = Objective.from_rows(rows.X, rows.y == classes[1], None, moments, l2, l1)
        return Start(method, objective, moments, l2)

    @abstractmethod
    def _advance(self, method: Any, X, order: np.ndarray, side: np.ndarray, l2: float | None, learn: bool) -> None:
        """Let the method visit rows; l2 = None means that it follows the stream."""

    @abstractmethod
    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        """A step size that would not diverge on rows with squared norms up to that."""

    def _check_parameters(self, method: Any) -> None:
        """Refuse parameters that contradict each other, or the stream so far."""

    def _certificate(self, method: Any, l2: float) -> tuple[float, float | None]:
        """(objective, gap) of a stream, NaN and None unless the method keeps enough statistics of the rows."""
        return float("nan"), None

    def _keep_variables(self, method: Any) -> None:
        """Assign what a method finds beside the coefficients."""

    @checks_parameters(skip_nested=True)
    def fit(self, X, y) -> Self:
        """Run `max_iter` epochs over the rows, each in a new random order, with known class means.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type that can be sorted; the last in order is positive.

        Returns
        -------
        self
        """
        rows = self._validate_rows(X, y, None, order="C")
        classes = self._labels(rows)
        method, objective, moments, l2 = self._start(rows, classes)
        self._check_parameters(method)
        X = online.kernel_rows(rows.X)
        side = (rows.y == classes[1]).astype(np.int64)
        rng = generator(self.random_state)

        def error() -> ValueError:
            return online.diverged(self.step_size, self._safe_step(online.largest_square(rows.X), l2, moments.p))

        visit = partial(self._advance, method, X, side=side, l2=l2, learn=False)
        sparsify = bool(getattr(self, "average", False) and self.l1 > 0)  # an average has no exact zeros
        epochs = online.ShuffledEpochs(method, visit, side.size, rng, diverged=error, sparsify=sparsify)
        with np.errstate(over="ignore", invalid="ignore"):  # a divergence is an error below
            solution = run(epochs, objective, tol=self.tol or 0.0, max_iter=self.max_iter)
        if not solution.value <= 10.0 * objective.scale:
            raise error()
        solution = measured_on_centred_rows(objective, solution, rows, moments, tol=self.tol or 0.0)

        self._keep_fit(solution, moments.classes, moments.means, l2)
        self.n_steps_ = method.n_steps
        self._stream = Stream(method, classes)
        self._keep_variables(method)
        if self.tol is not None:
            warn_of_missed_tolerance(self, solution)
        return self

    @checks_parameters(skip_nested=True)
    def partial_fit(self, X, y, classes=None) -> Self:
        """Take one step for each row, in the order given, with p and the class means of the rows so far.

        However a stream is cut into calls, the result has the same bits. Rows that come before both classes have been
        seen are counted and take no step; until then there is no model. After `fit` it continues from there. A stream
        that is sorted by class ends with a worse model than one in random order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (2,), optional
            Both labels; an error if other labels come.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_stream")
        try:
            rows = self._validate_rows(X, y, None, reset=first, order="C")
            stream = Stream(self._new_method(rows.X.shape[1]), np.empty(0)) if first else self._stream
            labels = union_of_labels(declared_labels(stream.labels, classes), np.unique(rows.y))
            self._check_parameters(stream.method)
        except Exception:
            if first:  # keep nothing of a refused first batch
                self._forget_columns()
            raise
        self._stream = stream
        if stream.labels.size == 1 and labels.size == 2 and stream.labels[0] == labels[1]:
            stream.method.swap_classes()  # the single label so far was class 0
        stream.labels = labels

        method = stream.method
        side = np.searchsorted(labels, rows.y).astype(np.int64)
        fixed_l2 = None if isinstance(self.l2, str) else float(self.l2)
        self._advance(method, online.kernel_rows(rows.X), np.arange(side.size), side, fixed_l2, True)
        if method.counts.min() == 0:  # one class so far
            return self
        l2 = AUTO_L2_SHARE * method.l2_unit if fixed_l2 is None else fixed_l2
        self._refuse_divergence(method, rows, l2)

        objective, gap = self._certificate(method, l2)
        solution = Solution(method.coef, objective, gap, n_iter=1, converged=True)
        self._keep_fit(solution, labels, method.means, l2)
        self.n_steps_ = method.n_steps
        self._keep_variables(method)
        return self

    def _refuse_divergence(self, method: Any, rows: Rows, l2: float) -> None:
        """Refuse to go on with coefficients that are not finite, or so large that F cannot come down again."""
        w = method.coef
        p = float(method.counts[1] / method.counts.sum())
        with np.errstate(over="ignore"):  # F itself is not known in a stream, but it is at least l2/2 ‖w‖²
            lost = l2 / 2.0 * float(w @ w) > 1e6 * p * (1.0 - p)  # below that it may recover
        if lost or not np.isfinite(w).all():
            raise online.diverged(self.step_size, self._safe_step(online.largest_square(rows.X), l2, p))


def declared_labels(known: np.ndarray, classes: Any) -> np.ndarray:
    """The labels met so far and those that a caller has declared; an error if these are not two."""
    if classes is None:
        return known
    declared = np.unique(np.asarray(classes))
    if declared.size != 2:
        raise ValueError(f"classes must hold exactly two different labels, got {declared.tolist()}.")
    return union_of_labels(known, declared)
