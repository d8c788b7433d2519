"""Constants and rates for a data set: constants computed from its rows, and `describe`, a table of all of them."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_X_y, gen_batches
from sklearn.utils.extmath import row_norms

from vrspam.paper import rates


@rates.formula
def lipschitz_rows(X: Any, positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Lipschitz constant of each row's gradient: 2(1-p)‖x-μ₋‖‖x‖ for a positive row, 2p‖x-μ₊‖‖x‖ for a negative one.

    None is larger than `lipschitz_bound` of the largest norm. A sparse X is not made dense.

    >>> import numpy as np
    >>> from vrspam.theory import lipschitz_rows
    >>> lipschitz_rows(np.array([[1.0], [-1.0]]), np.array([True, False]))
    array([2., 2.])
    """
    p = float(positive.mean())
    norm_square = row_norms(X, squared=True).astype(np.float64)
    mean_up, mean_down = X.T @ positive / positive.sum(), X.T @ ~positive / (~positive).sum()
    if sparse.issparse(X):
        other = np.where(positive, mean_down @ mean_down, mean_up @ mean_up)
        distance_square = norm_square - 2.0 * np.where(positive, X @ mean_down, X @ mean_up) + other
    else:  # subtract first, block by block: the formula above loses all digits if the rows are far from the origin
        distance_square = np.empty(norm_square.size)
        for rows in gen_batches(norm_square.size, 1024):
            centre = np.where(positive[rows, None], mean_down, mean_up)
            distance_square[rows] = row_norms(X[rows] - centre, squared=True)
    return 2.0 * np.where(positive, 1.0 - p, p) * np.sqrt(np.maximum(distance_square, 0.0) * norm_square)


@rates.formula
def noise_rows(X: Any, positive: NDArray[np.bool_]) -> float:
    """2·mean(L_i²) over the rows of X, each drawn with the same probability: at most `noise_bound`.

    >>> import numpy as np
    >>> from vrspam.theory import noise_rows
    >>> noise_rows(np.array([[1.0], [-1.0]]), np.array([True, False]))
    8.0
    """
    return 2.0 * float(np.mean(lipschitz_rows(X, positive) ** 2))


@rates.formula
def gradient_variance(X: Any, positive: NDArray[np.bool_], coef: NDArray) -> float:
    """σ² = E‖G(w; z) - ∇f(w)‖² of the paper's stochastic gradient at w = `coef`; this is σ*² if `coef` is the optimum.

    >>> import numpy as np
    >>> from vrspam.theory import gradient_variance
    >>> gradient_variance(np.array([[1.0], [-1.0]]), np.array([True, False]), np.array([0.3]))
    0.0
    """
    p, score = float(positive.mean()), X @ coef
    slope = np.where(
        positive,
        2.0 * (1.0 - p) * (score - score[~positive].mean() - 1.0),
        2.0 * p * (score - score[positive].mean() + 1.0),
    )  # G(w; z_i) = slope_i · x_i
    mean = X.T @ slope / positive.size
    return max(0.0, float(np.mean(slope**2 * row_norms(X, squared=True)) - mean @ mean))


class Description(dict[str, Any]):
    """What :func:`describe` returns: a dict of numbers whose ``str`` is a table.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import describe
    >>> found = describe(np.array([[1.0], [0.5], [-1.0]]), [1, 1, 0], l2=0.5)
    >>> found["n"], found["noise_printed"]
    (3, 128.0)
    >>> print(str(found).splitlines()[3])
    M                             1  largest norm of a row
    """

    def __str__(self) -> str:
        lines = [f"{name:<18}{_short(self[name]):>13}  {meaning}" for name, meaning in _DATA.items()]
        lines += ["", f"{'':<18}" + "".join(f"{kind:>13}" for kind in _KINDS)]
        for name, meaning in _RATES.items():
            cells = "".join(f"{_short(self[f'{name}_{kind}']):>13}" for kind in _KINDS)
            lines.append(f"{name:<18}{cells}  {meaning}")
        return "\n".join(lines)


_KINDS = ("printed", "sharp", "rows")
_DATA = {
    "n": "rows",
    "d": "features",
    "p": "share of positives",
    "M": "largest norm of a row",
    "l2": "strong convexity, the paper's β",
    "theta": "step as a fraction of the largest proven one",
    "epsilon": "target for ‖w-w*‖², as a fraction of its value at the start",
    "initial_error": "‖w*‖², the error of starting at 0 (a bound unless coef is given)",
    "gradient_variance": "σ*², variance of SPAM's gradient at w* (a bound unless coef is given)",
}
_RATES = {
    "lipschitz": "Lipschitz constant: 8M², 4M²·max(p,1-p), largest of the rows",
    "noise": "twice its mean square: 128M⁴, 32M⁴p(1-p), mean over the rows",
    "step": "η = θ·l2/noise",
    "C": "factor of the error in an inner step",
    "one_minus_C": "1 - C",
    "D": "share of the anchor's error added",
    "inner_steps": "m = ⌈2 log θ/log E⌉",
    "contraction": "α per epoch (first column: the paper's formula, one factor C too many)",
    "epochs": "least s with α^s ≤ ε (with the correct α in all columns)",
    "gradients": "s·(n + 2m) gradient evaluations",
    "passes": "the same divided by n",
    "spam_constant": "C̃ = l2/(1 + l2²/noise)²",
    "spam_start": "t₀, the step from which SPAM's rate holds",
    "spam_log10_error": "log₁₀ of the bound on ‖w_t₀-w*‖² (first column: the paper's F)",
    "spam_log10_steps": "log₁₀(t₀F/ε'), ε' = ε·‖w*‖²",
}


def describe(
    X: Any, y: ArrayLike, l2: float, *, theta: float = 0.5, epsilon: float = 1e-6, coef: ArrayLike | None = None
) -> Description:
    """Compute all constants and rates of the paper for a data set: as printed, sharpened, and from the rows themselves.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
    y : array of n labels
        Two values, the positive one sorting last.
    l2 : float
        Positive.
    theta : float in (0, 1)
        Step size as a fraction of :func:`step_bound`.
    epsilon : float in (0, 1)
        Target for E‖w - w*‖², relative to its value at the start w = 0.
    coef : array of d, optional
        The optimum, if it is known. Then the initial error and σ*² are exact values instead of bounds.

    Returns
    -------
    Description
        A dict; ``print`` shows it as a table with the meaning of each name. Quantities that depend on the
        Lipschitz bound are given three times, as ``name_printed``, ``name_sharp`` and ``name_rows``.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import describe
    >>> table = describe(np.array([[1.0], [0.5], [-1.0]]), [1, 1, 0], l2=0.5)
    >>> table["step_printed"], round(table["step_rows"] / table["step_printed"], 1)
    (0.001953125, 25.7)
    >>> print("\\n".join(str(table).splitlines()[:4]))
    n                             3  rows
    d                             1  features
    p                        0.6667  share of positives
    M                             1  largest norm of a row
    """
    rates.require_fraction(theta=theta, epsilon=epsilon)
    rates.require_positive(l2=l2)
    X, labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y has {classes.size} different labels; the theory is about two classes.")
    positive = labels == classes[1]
    n, p = positive.size, float(positive.mean())
    M = float(np.sqrt(row_norms(X, squared=True).max()))
    if not 1e-30 < M < 1e30:
        raise ValueError(f"the largest row has norm {M:.3g}, and M⁴ overflows or vanishes; scale the features.")
    table = Description(n=n, d=X.shape[1], p=p, M=M, l2=l2, theta=theta, epsilon=epsilon)
    if coef is None:
        table.update(
            initial_error=rates.solution_bound(l2, p), gradient_variance=rates.gradient_variance_bound(M, l2, p)
        )
    else:
        w = np.asarray(coef, dtype=np.float64).ravel()
        if w.size != X.shape[1] or not np.isfinite(w).all() or not w.any():
            raise ValueError(f"coef must hold {X.shape[1]} finite numbers, not all zero.")
        table.update(initial_error=float(w @ w), gradient_variance=gradient_variance(X, positive, w))

    row_constants = lipschitz_rows(X, positive)
    lipschitz = (rates.lipschitz_printed(M), rates.lipschitz_bound(M, p), float(row_constants.max()))
    noises = (rates.noise_printed(M), rates.noise_bound(M, p), 2.0 * float(np.mean(row_constants**2)))
    for kind, constant, noise in zip(_KINDS, lipschitz, noises, strict=True):
        for name, value in _rates(table, noise, printed=kind == "printed").items():
            table[f"{name}_{kind}"] = value
        table[f"lipschitz_{kind}"] = constant
    return table


def _rates(table: Description, noise: float, printed: bool) -> dict[str, Any]:
    n, l2, theta, epsilon = table["n"], table["l2"], table["theta"], table["epsilon"]
    initial_error, variance = table["initial_error"], table["gradient_variance"]
    if noise == 0:
        raise ValueError("all rows are at the same point: no gradient depends on w, so there is nothing to bound.")
    if abs(2 * math.log10(l2) - math.log10(noise)) > 140:
        raise ValueError("l2 and the size of the rows are too far apart for these formulas; rescale one of them.")
    step, m = theta * rates.step_bound(l2, noise), rates.inner_steps(l2, theta, noise)
    C, D = rates.step_constants(l2, step, noise)
    s = rates.epochs(l2, step, m, noise, epsilon)
    start = rates.spam_start(l2, noise)
    if printed:
        alpha = rates.contraction_printed(l2, step, m, noise)
        log_error = rates.spam_log_start_error_printed(l2, noise, variance)
    else:
        alpha = rates.contraction(l2, step, m, noise)
        log_error = rates.spam_log_start_error(l2, noise, variance, initial_error)
    return {
        "noise": noise,
        "step": step,
        "C": C,
        "one_minus_C": (2 * step * l2 + (step * l2) ** 2 - noise * step**2) / (1 + step * l2) ** 2,
        "D": D,
        "inner_steps": m,
        "contraction": alpha,
        "epochs": s,
        "gradients": rates.gradient_evaluations(n, m, s),
        "passes": rates.gradient_evaluations(n, m, s) / n,
        "spam_constant": rates.spam_constant(l2, noise),
        "spam_start": start,
        "spam_log10_error": log_error / math.log(10),
        "spam_log10_steps": rates.spam_log_iterations(start, log_error, epsilon * initial_error) / math.log(10),
    }


def _short(value: float) -> str:
    """Write whole numbers of up to nine digits in full, and other numbers to four significant digits."""
    return str(value) if isinstance(value, int) and abs(value) < 10**9 else f"{value:.4g}"
