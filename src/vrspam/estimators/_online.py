"""What the online estimators share: `fit` in shuffled epochs, `partial_fit` row by row."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.parameters import Interval, StrOptions, checks_parameters
from vrspam._utils.validation import Rows, union_of_labels
from vrspam.estimators.base import PENALTY_CONSTRAINTS, AUCClassifierBase, generator, resolve_l2
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, Objective
from vrspam.solvers.base import Solution, run
from vrspam.solvers.online import OnlineMethod, ShuffledEpochs, diverged, kernel_rows, largest_square
from vrspam.solvers.refine import measured_on_centred_rows

STREAM_CONSTRAINTS: dict = {
    "l2": PENALTY_CONSTRAINTS["l2"],
    "step_size": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left"), None],
    "random_state": ["random_state"],
}
DIVERGED = 10.0  # `fit` fails if F ends above this many times F(0)
LOST = 1e6  # a stream fails above this many times F(0): from less it may recover


class Known(NamedTuple):
    """What `fit` works with: a method that knows the class statistics, and F of the data set."""

    method: Any
    objective: Objective
    moments: ClassMoments
    l2: float


class StreamClassifierBase(AUCClassifierBase):
    """Base class of the online estimators.

    A subclass makes its method, tells it the statistics of a data set, and lets it visit rows. Nothing here
    depends on where a batch of a stream ends: each row joins the statistics, then takes its step.
    """

    _stream: _Stream
    step_size: float | str
    max_iter: int
    tol: float | None

    @abstractmethod
    def _new_method(self, n_features: int) -> Any:
        """A method that has not seen any rows."""

    @abstractmethod
    def _known(self, rows: Rows, classes: np.ndarray) -> Known:
        """A method that knows the statistics of the rows."""

    def _known_sums(self, rows: Rows, classes: np.ndarray, l1: float = 0.0) -> Known:
        """`_known` for a method that needs the class means alone."""
        d = rows.X.shape[1]
        moments = ClassMoments(d, classes=classes, scatter=False).add_checked(rows.X, rows.y)
        l2 = resolve_l2(self.l2, moments)
        method = self._new_method(d)
        method.know(moments, largest_square(rows.X))
        return Known(method, Objective.from_rows(rows.X, rows.y == classes[1], None, moments, l2, l1), moments, l2)

    @abstractmethod
    def _advance(self, method: Any, X, order: np.ndarray, side: np.ndarray, l2: float | None, learn: bool) -> None:
        """Let the method visit rows; l2 = None means that it follows the stream."""

    @abstractmethod
    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        """A step size that would not diverge on rows of that size."""

    @property
    def _sparsify(self) -> bool:
        """Whether `fit` must restore exact zeros."""
        return False

    def _check_parameters(self, method: Any) -> None:
        """Refuse parameters that contradict each other, or the stream so far."""

    def _certificate(self, method: Any, l2: float) -> tuple[float, float]:
        """(objective, gap) of a stream: NaN unless the method keeps enough statistics of the rows."""
        return float("nan"), float("nan")

    def _extras(self, method: Any) -> dict[str, Any]:
        """Further attributes of the method, by name."""
        return {}

    @checks_parameters(skip_nested=True)
    def fit(self, X, y):
        """Run `max_iter` epochs over the rows, each in a new random order, with known class means.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two different labels of any type.

        Returns
        -------
        self
        """
        rows = self._validate_rows(X, y, None, order="C")
        classes = self._two_classes(rows)
        method, objective, moments, l2 = self._known(rows, classes)
        self._check_parameters(method)
        X, side = kernel_rows(rows.X), (rows.y == classes[1]).astype(np.int64)
        rng = generator(self.random_state)

        def error() -> ValueError:
            return diverged(self.step_size, self._safe_step(largest_square(rows.X), l2, moments.p))

        epochs = ShuffledEpochs(
            method,
            lambda order: self._advance(method, X, order, side, l2, False),
            side.size,
            rng,
            diverged=error,
            sparsify=self._sparsify,
        )
        with np.errstate(over="ignore", invalid="ignore"):  # a divergence is an error below
            solution = run(epochs, objective, tol=self.tol or 0.0, max_iter=self.max_iter)
        if not solution.value <= DIVERGED * objective.scale:
            raise error()
        solution = measured_on_centred_rows(objective, solution, rows, moments, tol=self.tol or 0.0)
        return self._store(
            solution,
            moments.classes,
            moments.means,
            l2,
            warn_if_not_converged=self.tol is not None,
            n_steps_=method.n_steps,
            _stream=_Stream(method, classes),
            **self._extras(method),
        )

    @checks_parameters(skip_nested=True)
    def partial_fit(self, X, y, classes=None):
        """Take one step for each row, in the order given, with p and the class means of the rows so far.

        However a stream is cut into calls, the result has the same bits. Rows that come before both classes
        have been seen are counted and take no step; until then there is no model. After `fit` it continues
        from there. The order matters as in any online method: a stream that is sorted by class, or that repeats
        a pattern, ends with a worse model than one in random order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (2,), optional
            Both labels; checked against those that come.

        Returns
        -------
        self
        """
        first = not hasattr(self, "_stream")
        try:
            rows = self._validate_rows(X, y, None, reset=first, order="C")
            stream = _Stream(self._new_method(rows.X.shape[1])) if first else self._stream
            labels = stream.labels_with(rows.y, classes)
            self._check_parameters(stream.method)
        except Exception:
            if first:  # nothing of a refused first batch stays behind
                self._forget_columns()
            raise
        self._stream = stream
        stream.set_labels(labels)
        side = np.searchsorted(labels, rows.y).astype(np.int64)
        fixed_l2 = None if isinstance(self.l2, str) else float(self.l2)
        self._advance(stream.method, kernel_rows(rows.X), np.arange(side.size), side, fixed_l2, True)
        if stream.method.counts.min() > 0:
            self._store_stream(stream, rows)
        return self

    def _store_stream(self, stream: _Stream, rows: Rows) -> None:
        method = stream.method
        l2 = AUTO_L2_SHARE * method.l2_unit if isinstance(self.l2, str) else float(self.l2)
        w, p = method.coef, float(method.counts[1] / method.counts.sum())
        with np.errstate(over="ignore"):  # F itself is not known in a stream, but it is at least l2/2 ‖w‖²
            lost = l2 / 2.0 * float(w @ w) > LOST * p * (1.0 - p)
        if lost or not np.isfinite(w).all():
            raise diverged(self.step_size, self._safe_step(largest_square(rows.X), l2, p))
        solution = Solution(w, *self._certificate(method, l2), n_iter=1, converged=True)
        self._store(solution, stream.labels, method.means, l2, n_steps_=method.n_steps, **self._extras(method))


class _Stream:
    """A method and the labels it has met, sorted; a single label is class 0 until the other one is known."""

    def __init__(self, method: OnlineMethod, labels: np.ndarray | None = None):
        self.method = method
        self.labels = np.empty(0) if labels is None else labels

    def labels_with(self, y: np.ndarray, classes) -> np.ndarray:
        """The labels after a batch; an error, and no change, if they are too many."""
        labels = self.labels
        if classes is not None:
            given = np.unique(np.asarray(classes))
            if given.size != 2:
                raise ValueError(f"classes must hold exactly two different labels, got {given.tolist()}.")
            labels = union_of_labels(labels, given)
        labels = union_of_labels(labels, np.unique(y))
        if labels.size > 2:
            raise ValueError(f"Only binary classification is supported, but there are labels {labels.tolist()[:5]}.")
        return labels

    def set_labels(self, labels: np.ndarray) -> None:
        if self.labels.size == 1 and labels.size == 2 and self.labels[0] == labels[1]:
            self.method.swap_classes()
        self.labels = labels
