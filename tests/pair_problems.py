"""Problems of any kind of ordered pairs, and F by all pairs in long double: an oracle that shares no formula."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

Wide = np.longdouble


@dataclass(frozen=True)
class Problem:
    """Rows, what orders them, and a penalty.

    `kind` is "classes" (y is 0 or 1), "numbers" (larger y ranks higher) or "times" (earlier events rank higher).
    """

    kind: str
    X: np.ndarray
    y: np.ndarray
    event: np.ndarray | None
    strata: np.ndarray | None
    weights: np.ndarray | None
    loss: str = "squared"
    penalty: str = "elasticnet"
    gamma: float = 3.0
    strata_weight: str = "pairs"
    positive: bool = False
    l2: float = 1.0
    l1: float = 0.0

    @property
    def masses(self) -> np.ndarray:
        return np.ones(self.y.size) if self.weights is None else self.weights

    def of_rows(self, index: np.ndarray, weights: np.ndarray | None) -> Problem:
        """Some rows, perhaps several times; `weights` are those of all rows."""
        event = None if self.event is None else self.event[index]
        strata = None if self.strata is None else self.strata[index]
        weights = None if weights is None else weights[index]
        return replace(self, X=self.X[index], y=self.y[index], event=event, strata=strata, weights=weights)

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Wide]:
        """Upper row, lower row and weight of each pair (they add up to 1), and κ."""
        y = self.y
        if self.event is None:
            comparable = y[:, None] > y
        else:
            comparable = self.event[:, None] & ((y[:, None] < y) | ((y[:, None] == y) & ~self.event))
        if self.strata is not None:
            comparable &= self.strata[:, None] == self.strata
        upper, lower = np.nonzero(comparable)
        masses = self.masses.astype(Wide)
        weights = masses[upper] * masses[lower]
        kappa = weights.sum() / masses.sum() ** 2
        if self.strata is not None and self.strata_weight == "strata":
            for stratum in np.unique(self.strata[upper]):
                inside = self.strata[upper] == stratum
                weights[inside] /= weights[inside].sum()
        return upper, lower, weights / weights.sum(), kappa

    def differences(self) -> np.ndarray:
        upper, lower, _, _ = self.pairs()
        return self.X[upper].astype(Wide) - self.X[lower].astype(Wide)

    def loss_at(self, w: np.ndarray) -> Wide:
        _, _, weights, kappa = self.pairs()
        margins = 1 - self.differences() @ w.astype(Wide)
        if self.loss == "squared_hinge":
            margins = np.maximum(margins, 0)
        return kappa * (weights @ margins**2)

    def curvatures(self) -> np.ndarray:
        """The second derivative of the squared loss along each column."""
        _, _, weights, kappa = self.pairs()
        return 2 * kappa * (weights @ self.differences() ** 2)

    def slopes_at_zero(self) -> np.ndarray:
        _, _, weights, kappa = self.pairs()
        return -2 * kappa * (weights @ self.differences())

    def concave(self, size: np.ndarray, h: Wide) -> np.ndarray:
        """What MCP or SCAD of one coefficient of this size costs."""
        u, l1, gamma = h * size, Wide(self.l1), Wide(self.gamma)
        if self.penalty == "mcp":
            found = np.where(u <= gamma * l1, l1 * u - u**2 / (2 * gamma), gamma * l1**2 / 2)
        else:
            bend = (2 * gamma * l1 * u - u**2 - l1**2) / (2 * (gamma - 1))
            found = np.where(u <= l1, l1 * u, np.where(u <= gamma * l1, bend, l1**2 * (gamma + 1) / 2))
        return found / h

    def value(self, w: np.ndarray) -> Wide:
        """F(w); infinite where a bound is broken."""
        if self.positive and (w < 0).any():
            return Wide(np.inf)
        w = w.astype(Wide)
        squares = Wide(self.l2) / 2 * (w @ w)
        if self.penalty == "elasticnet":
            return self.loss_at(w) + squares + Wide(self.l1) * np.abs(w).sum()
        heights = self.curvatures()
        return self.loss_at(w) + squares + sum(self.concave(np.abs(w[j]), heights[j]) for j in range(w.size))

    def stationarity(self, w: np.ndarray) -> float:
        """½ Σ_j h_j (w_j - v_j)², where v_j minimises F along column j: by the pieces of MCP or SCAD."""
        _, _, weights, kappa = self.pairs()
        differences, heights = self.differences(), self.curvatures()
        slopes = -2 * kappa * (weights * (1 - differences @ w.astype(Wide))) @ differences
        total = Wide(0)
        for j, h in enumerate(heights):
            if not h:
                continue
            centre, curve = slopes[j] - h * Wide(w[j]), h + Wide(self.l2)  # f + ridge is curve/2 t² + centre t
            bend = -h / self.gamma if self.penalty == "mcp" else -h / (self.gamma - 1)
            height = self.l1 if self.penalty == "mcp" else self.gamma * self.l1 / (self.gamma - 1)
            found = [Wide(0)]
            for sign in (-1, 1):
                found += [sign * self.l1 / h, sign * self.gamma * self.l1 / h, -centre / curve]
                found.append(-(centre + sign * self.l1) / curve)
                if curve + bend:
                    found.append(-(centre + sign * height) / (curve + bend))
            points = np.array([t for t in found if not self.positive or t >= 0])
            costs = curve / 2 * points**2 + centre * points + self.concave(np.abs(points), h)
            total += h * (Wide(w[j]) - points[np.argmin(costs)]) ** 2 / 2
        return float(total)


@st.composite
def problems(draw, loss: str = "squared", penalties: tuple[str, ...] = ("elasticnet",)) -> Problem:
    """Up to 40 rows of up to 6 columns, or more columns than rows; offsets up to 1,000 spreads."""
    kind = draw(st.sampled_from(["classes", "numbers", "times"]))
    n, d = draw(st.integers(6, 40)), draw(st.integers(1, 6))
    if draw(st.integers(0, 5)) == 5:
        d = n + draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.standard_normal((n, d)) * 10.0 ** draw(st.sampled_from([0, 0, -3, 3]))
    if kind == "classes":
        y = (rng.permutation(n) < draw(st.integers(2, n - 2))).astype(float)
        X[y == 1] += X.std(axis=0) * rng.standard_normal(d)
    else:
        y = np.round(rng.exponential(size=n), draw(st.integers(0, 6)))
    event = rng.random(n) < 0.7 if kind == "times" else None
    if draw(st.integers(0, 3)) == 3:  # a column that differs by the same in every pair, or nearly
        X[:, 0] = 0.3 * (y if event is None else event)
    strata = np.sort(rng.integers(0, draw(st.integers(1, 5)), n)) if draw(st.booleans()) else None
    X += X.std(axis=0) * 10.0 ** draw(st.sampled_from([0, 1, 3])) * rng.choice([-1.0, 1.0], d)
    if draw(st.booleans()):
        X = np.round(X / X.std(axis=0).clip(1e-9), 1)  # ties, and constant columns
    X = X.astype(np.float32).astype(np.float64)  # so that float32 rows are the same rows
    weights = rng.integers(1, 4, n).astype(float) if draw(st.booleans()) else None
    penalty = draw(st.sampled_from(penalties))
    options = {"gamma": 3.0 if penalty == "mcp" else 3.7, "positive": draw(st.integers(0, 3)) == 3}
    same = draw(st.sampled_from(["pairs", "strata"]))
    rough = Problem(kind, X, y, event, strata, weights, loss, penalty, strata_weight=same, **options)
    _, _, _, kappa = rough.pairs() if has_pairs(rough) else (0, 0, 0, 0.0)
    if not kappa:
        return draw(st.nothing())
    heights, slopes = rough.curvatures(), np.abs(rough.slopes_at_zero()).max()
    l2 = float(heights.mean() or kappa) * 10.0 ** draw(st.floats(-6, 1))
    l1 = float(slopes) * 10.0 ** draw(st.floats(-3, 0)) if penalty != "elasticnet" or draw(st.booleans()) else 0.0
    if penalty != "elasticnet" and not l1:
        return draw(st.nothing())
    return Problem(kind, X, y, event, strata, weights, loss, penalty, **options, strata_weight=same, l2=l2, l1=l1)


def has_pairs(problem: Problem) -> bool:
    with np.errstate(invalid="ignore"):
        return problem.pairs()[0].size > 0
