"""Maps of one column at a time: `LinearFeatures` standardises, `AdditiveFeatures` gives smooth functions.

A linear score of `AdditiveFeatures` is a sum of curves.
"""

from dataclasses import replace
from numbers import Integral, Real

import numpy as np
from scipy import linalg
from scipy.interpolate import BSpline

from vrspam._utils.parameters import Interval
from vrspam.features.base import FeatureMap
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.distribution import Distribution


class LinearFeatures(FeatureMap):
    """Standardised columns: (x - mean) / standard deviation; categories one-hot, missing values as an indicator.

    This is the baseline for the other maps, and it lets a linear scorer take frames with categories and missing
    values.

    Parameters
    ----------
    max_categories : int, default=1000
        If a column has more categories, the most frequent are kept and the others count as one category.
    max_rows : int, default=50_000
        Mean and standard deviation of a column of many values come from at most this many rows.
    random_state : int, RandomState or None, default=None
        Controls which rows are drawn if there are more than `max_rows`.
    monotonic_cst : array-like of -1, 0 and 1, or None, default=None
        For each column whether the score must rise (1) or fall (-1) with it, or is free (0). `AUCClassifierCV` sets
        this parameter, and keeps the coefficients inside `limits`.

    Attributes
    ----------
    encoders_ : list
        How each column is encoded.
    column_slices_ : list of slice
        Where the encoded values of each column are.
    grouped_categories_ : list
        Columns of more than `max_categories` categories: their names, and how many were kept and grouped.
    n_rows_held_ : int
        Number of training rows that the map stores: its landmarks if these are rows, otherwise 0.
    n_features_in_, n_features_out_ : int
        Number of columns, and number of features.

    Examples
    --------
    >>> import pandas as pd
    >>> from vrspam.features import LinearFeatures
    >>> frame = pd.DataFrame({"age": [30.0, 50.0, None], "sex": ["f", "m", "f"]})
    >>> features = LinearFeatures().fit(frame)
    >>> features.get_feature_names_out().tolist()
    ['age', 'age_missing', 'sex=f', 'sex=m']
    >>> features.transform(frame)
    array([[-1.,  0.,  1.,  0.],
           [ 1.,  0.,  0.,  1.],
           [ 0.,  1.,  1.,  0.]])
    """

    kind = "standardized"
    _encoded_by = ()

    def __init__(self, *, max_categories=1000, max_rows=50_000, random_state=None, monotonic_cst=None):
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state
        self.monotonic_cst = monotonic_cst

    def _curves(self, seen: Distribution, missing: bool) -> Curves:
        if seen.deviation == 0.0:
            return Curves(seen.values[:1], np.zeros((1, 1)), ("",), missing)
        ends = seen.values[[0, -1]]
        table = ((ends - seen.mean) / seen.deviation)[:, np.newaxis]
        return Curves(ends, table, ("",), missing, extend=True)


def splines(ranks: np.ndarray, n_knots: int) -> np.ndarray:
    """The cubic B-splines of evenly spaced knots at the given ranks: shape (len(ranks), n_knots + 2)."""
    degree = 3
    # Evenly spaced beyond both ends, so that straight lines have no second differences.
    knots = np.arange(-degree, n_knots + degree) / (n_knots - 1.0)
    return BSpline.design_matrix(ranks, knots, degree).toarray()


def independent(columns: np.ndarray) -> np.ndarray:
    """Indices of columns that span nearly the same space as all columns and are not nearly collinear."""
    _, triangle, order = linalg.qr(columns, mode="economic", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return np.sort(order[: int(np.count_nonzero(sizes > 1e-4 * sizes[0]))])


def smooth_functions(ranks: np.ndarray, shares: np.ndarray, n_knots: int) -> np.ndarray:
    """Orthogonal functions of a rank, smoothest first, at the given ranks: shape (len(ranks), q).

    With B the cubic B-spline basis, C its covariance under the weights `shares` and P = D₂ᵀD₂ the penalty of
    second differences of the coefficients, the functions are B a, where a solves P a = λ C a, in order of λ. They
    have mean 0 and variance 1 and are uncorrelated; their sign is chosen such that the last value is positive.
    """
    basis = splines(ranks, n_knots)
    basis -= shares @ basis
    covariance, directions = linalg.eigh((basis * shares[:, np.newaxis]).T @ basis)
    # The constant has no variance; with few different values other directions have none either.
    seen = covariance > 1e-7 * covariance[-1]
    whitened = directions[:, seen] / np.sqrt(covariance[seen])
    differences = np.diff(np.eye(basis.shape[1]), 2, axis=0) @ whitened
    _, by_roughness = linalg.eigh(differences.T @ differences)
    functions = basis @ (whitened @ by_roughness)
    return functions * np.where(functions[-1] < 0.0, -1.0, 1.0)


class AdditiveFeatures(FeatureMap):
    """Smooth orthogonal functions of each column: a linear scorer of them is an additive model.

    For a column x with empirical ranks u(x) in (0, 1) the features are the standardised column, clipped, and

        r^-decay · f_r(u(x)),     r = 1, 2, ...

    where f_1, f_2, ... are uncorrelated cubic splines of variance 1, smoothest first: they solve the generalised
    eigenproblem of the second-difference penalty against the empirical covariance of the B-spline basis. The
    factor r^-decay makes rough functions expensive, so that `l2` alone controls smoothness: as `l2` grows, the model
    becomes nearly linear. A column of k different values gets at most k - 1 functions (which span the space of its
    indicators); a column of two values is only standardised. Categories are one-hot with variance 1; missing values
    have an indicator.

    Parameters
    ----------
    n_knots : int, default=16
        Knots of the splines, evenly spaced over the ranks.
    decay : float, default=1.0
        How fast rougher functions are scaled down.
    clip : float, default=3.0
        The standardised column is cut off at this many standard deviations.
    max_features : int, default=1000
        About how many features the columns of more than two values may have together: if there are many such columns,
        each gets fewer functions. The standardised columns themselves and categories are always kept.
    max_categories : int, default=1000
        If a column has more categories, the most frequent are kept and the others count as one category.
    max_rows : int, default=50_000
        The ranks of a column of many values come from at most this many rows.
    random_state : int, RandomState or None, default=None
        Controls which rows are drawn if there are more than `max_rows`.
    monotonic_cst : array-like of -1, 0 and 1, or None, default=None
        For each column whether the score must rise (1) or fall (-1) with it, or is free (0). `AUCClassifierCV` sets
        this parameter, and keeps the coefficients inside `limits`. A column that must rise or fall has the same curves
        in another basis.

    Attributes
    ----------
    encoders_ : list
        How each column is encoded: functions are tables of values, interpolated linearly.
    column_slices_ : list of slice
        Where the encoded values of each column are.
    grouped_categories_ : list
        Columns of more than `max_categories` categories: their names, and how many were kept and grouped.
    n_rows_held_ : int
        Number of training rows that the map stores: its landmarks if these are rows, otherwise 0.
    n_features_in_, n_features_out_ : int
        Number of columns, and number of features.

    References
    ----------
    P. H. C. Eilers and B. D. Marx. Flexible smoothing with B-splines and penalties. Statistical Science 11, 1996.
    A. Demmler and C. Reinsch. Oscillation matrices with spline smoothing. Numerische Mathematik 24, 1975.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import AUCClassifier
    >>> from vrspam.features import AdditiveFeatures
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((2000, 3))
    >>> y = np.abs(X[:, 0]) + 0.3 * rng.standard_normal(2000) > 1.0
    >>> features = AdditiveFeatures().fit(X)
    >>> print(f"{AUCClassifier().fit(features.transform(X), y).score(features.transform(X), y):.2f}")
    0.95
    """

    _parameter_constraints: dict = {
        **FeatureMap._parameter_constraints,
        "n_knots": [Interval(Integral, 3, None, closed="left")],
        "decay": [Interval(Real, 0, None, closed="left")],
        "clip": [Interval(Real, 0, None, closed="neither")],
        "max_features": [Interval(Integral, 1, None, closed="left")],
    }
    _encoded_by = ("n_knots", "decay", "clip", "max_features")
    _category_scale = None

    def __init__(
        self,
        *,
        n_knots=16,
        decay=1.0,
        clip=3.0,
        max_features=1000,
        max_categories=1000,
        max_rows=50_000,
        random_state=None,
        monotonic_cst=None,
    ):
        self.n_knots = n_knots
        self.decay = decay
        self.clip = clip
        self.max_features = max_features
        self.max_categories = max_categories
        self.max_rows = max_rows
        self.random_state = random_state
        self.monotonic_cst = monotonic_cst

    def _nodes(self, seen: Distribution) -> tuple[np.ndarray, np.ndarray]:
        """The nodes of a column that varies, and the standardised column there, clipped."""
        bounds = seen.mean + np.array([-self.clip, self.clip]) * seen.deviation
        inside = bounds[(bounds > seen.values[0]) & (bounds < seen.values[-1])]
        # If there are few values, these are the nodes.
        nodes = np.union1d(seen.values, inside) if seen.values.size > 20 else seen.values
        return nodes, np.clip((nodes - seen.mean) / seen.deviation, -self.clip, self.clip)

    def _rising(self, seen: Distribution, missing: bool) -> Curves:
        """The same curves as `_curves`, in a basis in which a curve with coefficients w rises if U⁻¹w ≥ 0 (`rising`).

        The rising functions M are steps where all functions of the values are possible, else integrated splines and
        the column itself. T holds the coefficients of M in the basis of `_curves`, where Mv costs ‖Tv‖². With T = QU
        the features M U⁻¹ have coefficients w = Uv: the same cost, and v = U⁻¹w.
        """
        n_knots = min(self.n_knots, self.max_features // max(self._n_curved, 1) - 2)
        if seen.values.size <= 2 or n_knots < 3:
            free = self._curves(seen, missing)
            return replace(free, table=free.table[:, :1], labels=free.labels[:1])
        nodes, line = self._nodes(seen)
        at_values = np.searchsorted(nodes, seen.values)
        smooth = smooth_functions(seen.ranks, seen.shares, n_knots)
        smooth *= np.arange(1.0, smooth.shape[1] + 1.0) ** -self.decay
        functions = np.column_stack([line[at_values], smooth])
        if smooth.shape[1] >= seen.values.size - 1:
            rising = np.tri(seen.values.size, k=-1)[:, :-1]  # the nodes are the values
        else:
            # Sums of the last B-splines rise from 0 to 1, each around a different knot.
            sums = np.cumsum(splines(seen.ranks, n_knots)[:, :0:-1], axis=1)[:, ::-1].T
            rising = np.column_stack([line, *(np.interp(nodes, seen.values, function) for function in sums)])
        functions -= seen.shares @ functions
        rising -= seen.shares @ rising[at_values]
        root = np.sqrt(seen.shares)[:, np.newaxis]
        rising = rising[:, independent(root * rising[at_values])]
        coefs = linalg.lstsq(root * functions, root * rising[at_values])[0]
        triangle = linalg.qr(coefs, mode="economic")[1]
        rows = linalg.solve_triangular(triangle, np.eye(len(triangle)))
        labels = tuple(f"rising{r + 1}" for r in range(len(rows)))
        return Curves(nodes, rising @ rows, labels, missing, rising=rows)

    def _curves(self, seen: Distribution, missing: bool) -> Curves:
        if seen.deviation == 0.0:
            return Curves(seen.values[:1], np.zeros((1, 1)), ("",), missing)
        nodes, line = self._nodes(seen)
        curves = [line]
        labels = [""]
        most_functions = self.max_features // max(self._n_curved, 1) - 1  # in addition to the column itself
        if seen.values.size > 2 and most_functions > 0:
            smooth = smooth_functions(seen.ranks, seen.shares, self.n_knots)[:, :most_functions]
            smooth *= np.arange(1.0, smooth.shape[1] + 1.0) ** -self.decay
            for r, function in enumerate(smooth.T, start=1):
                curves.append(np.interp(nodes, seen.values, function))
                labels.append(f"smooth{r}")
        return Curves(nodes, np.stack(curves, axis=1), tuple(labels), missing)
