"""`SPAMClassifier`, `SOLAMClassifier` and `OPAUCClassifier`: `fit` in shuffled epochs, `partial_fit` row by row."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np

from vrspam._utils.parameters import Interval, StrOptions, checks_parameters
from vrspam._utils.validation import Rows, union_of_labels
from vrspam.estimators.base import PENALTY_CONSTRAINTS, AUCClassifierBase, generator, share_estimator_texts
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, Objective
from vrspam.solvers import online
from vrspam.solvers.base import Solution, known_gap, run
from vrspam.solvers.exact import measured_on_centred_rows, resolve_l2


@dataclass
class Stream:
    """A method and the labels it has met, sorted; a single label is class 0 until the other one is known."""

    method: Any
    labels: np.ndarray


@share_estimator_texts
class StreamClassifierBase(AUCClassifierBase):
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

    def _known(self, rows: Rows, classes: np.ndarray) -> tuple[Any, Objective, ClassMoments, float]:
        """A method that knows the statistics of the rows (here the class means alone), F, these statistics, and l2."""
        d, l1 = rows.X.shape[1], float(getattr(self, "l1", 0.0))
        moments = ClassMoments(d, classes=classes, scatter=False).add_checked(rows.X, rows.y)
        l2 = resolve_l2(self.l2, moments)
        method = self._new_method(d)
        method.know(moments, online.largest_square(rows.X))
        return method, Objective.from_rows(rows.X, rows.y == classes[1], None, moments, l2, l1), moments, l2

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

    def _extras(self, method: Any) -> dict[str, Any]:
        """Further attributes of the method, by name."""
        return {}

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
        method, objective, moments, l2 = self._known(rows, classes)
        self._check_parameters(method)
        X, side = online.kernel_rows(rows.X), (rows.y == classes[1]).astype(np.int64)
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
        more = {"n_steps_": method.n_steps, "_stream": Stream(method, classes), **self._extras(method)}
        told = self.tol is not None
        return self._store(solution, moments.classes, moments.means, l2, warn_if_not_converged=told, **more)

    @checks_parameters(skip_nested=True)
    def partial_fit(self, X, y, classes=None) -> Self:
        """Take one step for each row, in the order given, with p and the class means of the rows so far.

        However a stream is cut into calls, the result has the same bits. Rows that come before both classes have been
        seen are counted and take no step; until then there is no model. After `fit` it continues from there. A stream
        that is sorted by class ends with a worse model than one in random order.

        Parameters
        ----------
        {X, y}
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
            labels = stream.labels
            if classes is not None:
                given = np.unique(np.asarray(classes))
                if given.size != 2:
                    raise ValueError(f"classes must hold exactly two different labels, got {given.tolist()}.")
                labels = union_of_labels(labels, given)
            labels = union_of_labels(labels, np.unique(rows.y))
            self._check_parameters(stream.method)
        except Exception:
            if first:  # keep nothing of a refused first batch
                self._forget_columns()
            raise
        self._stream = stream
        if stream.labels.size == 1 and labels.size == 2 and stream.labels[0] == labels[1]:
            stream.method.swap_classes()  # the single label so far was class 0
        stream.labels = labels
        side = np.searchsorted(labels, rows.y).astype(np.int64)
        fixed_l2 = None if isinstance(self.l2, str) else float(self.l2)
        self._advance(stream.method, online.kernel_rows(rows.X), np.arange(side.size), side, fixed_l2, True)
        method = stream.method
        if method.counts.min() == 0:
            return self
        l2 = AUTO_L2_SHARE * method.l2_unit if isinstance(self.l2, str) else float(self.l2)
        w, p = method.coef, float(method.counts[1] / method.counts.sum())
        with np.errstate(over="ignore"):  # F itself is not known in a stream, but it is at least l2/2 ‖w‖²
            lost = l2 / 2.0 * float(w @ w) > 1e6 * p * (1.0 - p)  # below that it may recover
        if lost or not np.isfinite(w).all():
            raise online.diverged(self.step_size, self._safe_step(online.largest_square(rows.X), l2, p))
        solution = Solution(w, *self._certificate(method, l2), n_iter=1, converged=True)
        return self._store(solution, labels, method.means, l2, n_steps_=method.n_steps, **self._extras(method))


@share_estimator_texts
class SPAMClassifier(StreamClassifierBase):
    """SPAM: proximal stochastic gradient on the pairwise squared AUC loss, one row a step.

    With p the share of positives, q = 1 - p and the class means μ₊, μ₋, a row x moves the coefficients by

        w ← prox_η(w - η g),   g = 2q (w·(x-μ₋) - 1) x  (positive),   2p (w·(x-μ₊) + 1) x  (negative),

    where prox_η soft-thresholds by η·l1 and divides by 1 + η·l2. The steps η shrink, because the variance of g
    does not; the error falls like 1/steps. For the optimum of a data set at hand use `AUCClassifier`, for fast
    convergence by rows `VRSPAMClassifier`; SPAM is for streams.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm. "auto" is 1e-3 · 2pq · (mean second derivative); in a stream, of the rows so
        far.
    l1 : float, default=0.0
        Weight of the absolute norm; positive values give zeros in `coef_`.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant of g), in a stream that of the rows so far, and no
        step is longer than 1 / (Lipschitz constant of its row). A number is used as is.
    schedule : {"sqrt", "theory"}, default="sqrt"
        "theory" is the analysed step 1 / (C̃ (t+1)), C̃ = l2 / (1 + l2²/(128 M⁴))², M = max ‖x‖, times step_size if
        that is a number; else it is at most the automatic c/√t. It needs l2 > 0.
    average : bool, default=False
        Return Σ t w_t / Σ t, usually closer to the optimum than the last w_t. With l1 > 0 `fit` returns its
        proximal-gradient point, which has exact zeros; `partial_fit` cannot, and returns the average.
    max_iter : int, default=20
        Epochs of `fit`.
    tol : float or None, default=None
        Stop `fit` when the certificate is at most tol·F(0), and warn if it never is. None runs all epochs.
    random_state : int, RandomState or None, default=None
        Order of the rows in `fit`.

    Attributes
    ----------
    {coef_, intercept_, classes_}
    gap_ : float or None
        After `fit` an upper bound on F(coef_) - min F; None after `partial_fit`, which keeps no rows.
    objective_ : float
        F(coef_); None after `partial_fit`.
    l2_ : float
        The value of l2 that was used (in a stream: by the latest step).
    n_iter_ : int
        Epochs done; 1 after `partial_fit`.
    n_steps_ : int
        Steps taken since `fit` or since the stream began.
    history_ : dict of ndarray
        After `fit`: epoch, passes, seconds, objective and gap for each epoch.
    {n_features_in_, feature_names_in_}

    Notes
    -----
    There is no `sample_weight`: each row is one draw. The gradient depends on the origin: standardise the features
    first, because with rows far from 0 the method takes long to rank better than chance. A step costs O(nonzeros of the
    row) with l1 = 0, and O(d) with l1 > 0. Once a stream has diverged (possible with a given step size, or on
    extreme scales), every further call raises an error, and the attributes keep their last values.

    References
    ----------
    M. Natole, Y. Ying and S. Lyu. Stochastic Proximal Algorithms for AUC Maximization. ICML 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import SPAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = SPAMClassifier(random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.99
    >>> stream = SPAMClassifier()
    >>> for start in range(0, 569, 100):
    ...     stream = stream.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> stream.n_steps_ > 500
    True
    """

    _parameter_constraints: dict = {
        **StreamClassifierBase._parameter_constraints,
        "l1": PENALTY_CONSTRAINTS["l1"],
        "schedule": [StrOptions({"sqrt", "theory"})],
        "average": ["boolean"],
    }

    def __init__(
        self,
        l2="auto",
        l1=0.0,
        *,
        step_size="auto",
        schedule="sqrt",
        average=False,
        max_iter=20,
        tol=None,
        random_state=None,
    ):
        self.l2 = l2
        self.l1 = l1
        self.step_size = step_size
        self.schedule = schedule
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> online.SPAM:
        return online.SPAM(n_features, self.average)

    def _check_parameters(self, method: online.SPAM) -> None:
        if self.schedule == "theory" and self.l2 == 0:
            raise ValueError('schedule="theory" divides by l2: give l2 > 0, or use schedule="sqrt".')

    def _advance(self, method: online.SPAM, X, order, side, l2, learn) -> None:
        method.set_average(self.average)
        rule = online.step_rule(self.step_size, l2, theory=self.schedule == "theory")
        method.advance(X, order, side, rule, float(self.l1), learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        bound = 4.0 * max(p, 1.0 - p) * max(largest_square, np.finfo(float).tiny)
        return (l2 if self.schedule == "theory" else 1.0) / bound


class SOLAMClassifier(StreamClassifierBase):
    """SOLAM: descent in (w, a, b) and ascent in ζ on a saddle function whose solution minimises F.

    With s = w·x, p the share of positives and q = 1 - p, the saddle function of a row is

        q (s - a)² - 2q (1+ζ) s - pq ζ²  (positive),     p (s - b)² + 2p (1+ζ) s - pq ζ²  (negative),

    plus l2/2 ‖w‖². It needs no class means: at the saddle point a = w·μ₊, b = w·μ₋ and ζ = w·(μ₋ - μ₊). The result
    is the average of the w_t weighted by the steps η_t = c/√t. It is the slowest online method here, kept
    because the paper compares with it.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm, as in `SPAMClassifier`.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant), in a stream that of the rows so far; no step is
        longer than 1 / (Lipschitz constant of its row), and a, b and ζ are measured in units of the root mean
        square of ‖x‖. A number is used as is, for all variables.
    radius : float or None, default=None
        Keep ‖w‖ ≤ radius, |a|, |b| ≤ radius·M and |ζ| ≤ 2·radius·M, M = max ‖x‖, by projection. The optimum moves
        if it lies outside; `gap_` is always that of F without the ball.
    max_iter : int, default=50
        Epochs of `fit`.
    tol, random_state
        As in `SPAMClassifier`.

    Attributes
    ----------
    a_, b_, zeta_ : float
        The other variables of the saddle point, averaged like `coef_`.
    coef_, intercept_, classes_, gap_, objective_, l2_, n_iter_, n_steps_, history_, n_features_in_, feature_names_in_
        As in `SPAMClassifier`.

    Notes
    -----
    As for `SPAMClassifier`; a step costs O(nonzeros of the row).

    References
    ----------
    Y. Ying, L. Wen and S. Lyu. Stochastic Online AUC Maximization. NIPS 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import SOLAMClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SOLAMClassifier(random_state=0).fit(StandardScaler().fit_transform(X), y)
    >>> print(f"{model.score(StandardScaler().fit_transform(X), y):.2f}")
    0.99
    """

    _parameter_constraints: dict = {
        **StreamClassifierBase._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, l2="auto", *, step_size="auto", radius=None, max_iter=50, tol=None, random_state=None):
        self.l2 = l2
        self.step_size = step_size
        self.radius = radius
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> online.SOLAM:
        return online.SOLAM(n_features)

    def _advance(self, method: online.SOLAM, X, order, side, l2, learn) -> None:
        method.advance(X, order, side, online.step_rule(self.step_size, l2), self.radius, learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        return 0.5 / (max(p, 1.0 - p) * (np.sqrt(largest_square) + 1.0) ** 2)

    def _extras(self, method: online.SOLAM) -> dict[str, Any]:
        return dict(zip(("a_", "b_", "zeta_"), map(float, method.saddle), strict=True))


class OPAUCClassifier(StreamClassifierBase):
    """OPAUC: each row is compared with all rows of the other class through their mean and covariance.

    With running class means μ±, covariances Σ± and λ = l2 / (2pq), a row x moves the coefficients by

        w ← w - η (λ w - (x-μ₋) + ((x-μ₋)(x-μ₋)ᵀ + Σ₋) w)   (positive),
        w ← w - η (λ w + (x-μ₊) + ((x-μ₊)(x-μ₊)ᵀ + Σ₊) w)   (negative),

    on average a gradient step on F / (2pq). It costs O(d²) time a row and two d×d matrices of memory, or O(dτ)
    with a sketch of rank τ.

    Parameters
    ----------
    l2 : float or "auto", default="auto"
        Weight of the squared norm, as in `SPAMClassifier`.
    step_size : float or "auto", default="auto"
        c in η_t = c/√t. "auto" is 1 / (mean Lipschitz constant), in a stream that of the rows so far, and no step is
        longer than 1 / (Lipschitz constant of its row): it cannot diverge. A number is used as is.
    sketch : int or None, default=None
        Rank τ of the sketch of each covariance (frequent directions); None keeps the d×d matrices, up to 20,000
        features. If τ reaches the rank of the data, the sketch is exact. It cannot change in the middle of a stream.
    max_iter : int, default=5
        Epochs of `fit`.
    tol, random_state
        As in `SPAMClassifier`.

    Attributes
    ----------
    gap_ : float or None
        Upper bound on F(coef_) - min F. After `partial_fit` without a sketch it is that of all rows so far,
        which the matrices remember, without room for rounding; with a sketch it is None after `partial_fit`.
    objective_ : float
        F(coef_); None after `partial_fit` with a sketch.
    coef_, intercept_, classes_, l2_, n_iter_, n_steps_, history_, n_features_in_, feature_names_in_
        As in `SPAMClassifier`.

    Notes
    -----
    There is no `sample_weight`: each row is one draw. With d×d matrices `AUCClassifier` gives the exact
    optimum for less work, in a stream as well. Once a stream has diverged (possible with a given step size only),
    every further call raises an error, and the attributes keep their last values.

    References
    ----------
    W. Gao, R. Jin, S. Zhu and Z.-H. Zhou. One-Pass AUC Optimization. ICML 2013.

    E. Liberty. Simple and Deterministic Matrix Sketching. KDD 2013.

    L. Luo, C. Chen, Z. Zhang, W.-J. Li and T. Zhang. Robust Frequent Directions with Application in Online
    Learning. JMLR 20, 2019.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vrspam import OPAUCClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> print(f"{OPAUCClassifier(random_state=0).fit(X, y).score(X, y):.2f}")
    0.99
    >>> print(f"{OPAUCClassifier(sketch=5).partial_fit(X, y).score(X, y):.2f}")
    0.99
    """

    _parameter_constraints: dict = {
        **StreamClassifierBase._parameter_constraints,
        "sketch": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(self, l2="auto", *, step_size="auto", sketch=None, max_iter=5, tol=None, random_state=None):
        self.l2 = l2
        self.step_size = step_size
        self.sketch = sketch
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _new_method(self, n_features: int) -> online.OPAUC:
        if self.sketch is None and n_features > 20_000:
            size = 16 * n_features**2 / 1e9
            raise ValueError(f"OPAUC keeps two d × d matrices: {size:,.0f} GB for d = {n_features:,}; give sketch=.")
        return online.OPAUC(n_features, self.sketch)

    def _known(self, rows: Rows, classes: np.ndarray) -> tuple[online.OPAUC, Objective, ClassMoments, float]:
        method = self._new_method(rows.X.shape[1])
        full = self.sketch is None
        moments = ClassMoments(rows.X.shape[1], classes=classes, scatter=full).add_checked(rows.X, rows.y)
        l2 = resolve_l2(self.l2, moments)
        is_positive = rows.y == classes[1]
        if full:
            method.know(moments)
            return method, Objective.from_moments(moments, l2), moments, l2
        order = np.arange(rows.X.shape[0])
        rule = online.step_rule(self.step_size, l2)
        method.advance(online.kernel_rows(rows.X), order, is_positive.astype(np.int64), rule, learn=True, step=False)
        return method, Objective.from_rows(rows.X, is_positive, None, moments, l2), moments, l2

    def _check_parameters(self, method: online.OPAUC) -> None:
        if method.sketch != self.sketch:
            raise ValueError(
                f"The stream was begun with sketch={method.sketch}: it cannot go on with sketch={self.sketch}."
            )

    def _advance(self, method: online.OPAUC, X, order, side, l2, learn) -> None:
        method.advance(X, order, side, online.step_rule(self.step_size, l2), learn=learn)

    def _safe_step(self, largest_square: float, l2: float, p: float) -> float:
        return 1.0 / (l2 / (2.0 * p * (1.0 - p)) + 5.0 * max(largest_square, np.finfo(float).tiny))

    def _certificate(self, method: online.OPAUC, l2: float) -> tuple[float, float | None]:
        if method.sketch is not None:
            return float("nan"), None
        objective = method.objective(l2)
        value, grad = objective.value_and_grad(method.w)
        return value, known_gap(objective.certificate(method.w, grad)[0])
