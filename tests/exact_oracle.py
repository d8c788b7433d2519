"""The squared pair loss with an elastic net in exact rational arithmetic: an oracle without rounding, for small data.

Every float is a fraction with a power of two below, so F(w), its minimiser and its minimum are known exactly.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

Vector = list[Fraction]


def as_integers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Integers z (objects) and an exponent e with values = z · 2^e, exactly."""
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    digits, exponent = (mantissa * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53
    lowest = int(exponent[digits != 0].min(initial=0)) if digits.any() else 0
    out = np.empty(digits.shape, dtype=object)
    for place, digit in np.ndenumerate(digits):
        out[place] = int(digit) << int(exponent[place] - lowest) if digit else 0
    return out, lowest


def power(exponent: int) -> Fraction:
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)


def solve(matrix: list[Vector], right: Vector) -> Vector:
    """The solution of a positive definite system, by elimination."""
    size = len(right)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(size):
        for j in range(i + 1, size):
            factor = rows[j][i] / rows[i][i]
            if factor:
                rows[j] = [x - factor * z for x, z in zip(rows[j], rows[i], strict=True)]
    found: Vector = [Fraction(0)] * size
    for i in reversed(range(size)):
        known = sum((rows[i][j] * found[j] for j in range(i + 1, size)), Fraction(0))
        found[i] = (rows[i][-1] - known) / rows[i][i]
    return found


class ExactProblem:
    """F of some rows: `k`, `delta` and `within` as fractions."""

    def __init__(self, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None):
        X = np.asarray(X, dtype=np.float64)
        self.d = X.shape[1]
        weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        columns = [as_integers(column) for column in X.T]
        units = [power(exponent) for _, exponent in columns]
        rows = np.stack([digits for digits, _ in columns], axis=1)
        mass, _ = as_integers(weights)
        sizes, means, covariances = [], [], []
        for positive in (False, True):
            chosen = (np.asarray(y) == 1) == positive
            c, x = mass[chosen], rows[chosen]
            size, sums, squares = int(c.sum()), c @ x, (x * c[:, None]).T @ x
            sizes.append(size)
            means.append([Fraction(int(s), size) for s in sums])
            covariances.append(
                [
                    [
                        Fraction(size * int(squares[i, j]) - int(sums[i]) * int(sums[j]), size * size)
                        for j in range(self.d)
                    ]
                    for i in range(self.d)
                ]
            )
        self.p = Fraction(sizes[1], sum(sizes))
        self.scale = self.p * (1 - self.p)
        self.k = 2 * self.scale
        self.delta = [(b - a) * u for a, b, u in zip(*means, units, strict=True)]
        self.within = [
            [(covariances[0][i][j] + covariances[1][i][j]) * units[i] * units[j] for j in range(self.d)]
            for i in range(self.d)
        ]

    def unit(self) -> float:
        """The unit of l2."""
        mean = sum(self.within[j][j] + self.delta[j] ** 2 for j in range(self.d)) / self.d
        return float(self.k * mean) if mean else float(self.k)

    def gradient(self, w: Vector) -> Vector:
        """∇f."""
        margin = 1 - sum(a * b for a, b in zip(w, self.delta, strict=True))
        products = [sum(a * b for a, b in zip(row, w, strict=True)) for row in self.within]
        return [self.k * (product - margin * delta) for product, delta in zip(products, self.delta, strict=True)]

    def value(self, w, l2: float, l1: float) -> Fraction:
        """F(w)."""
        w = [Fraction(x) for x in w]
        margin = 1 - sum(a * b for a, b in zip(w, self.delta, strict=True))
        spread = sum(a * sum(x * b for x, b in zip(row, w, strict=True)) for row, a in zip(self.within, w, strict=True))
        penalty = Fraction(l2) / 2 * sum(x * x for x in w) + Fraction(l1) * sum(map(abs, w))
        return self.scale * (margin * margin + spread) + penalty

    def on_signs(self, signs: list[int], l2: Fraction, l1: Fraction) -> Vector:
        """The minimiser of f + l2/2 ‖w‖² + l1 signs·w over the coordinates whose sign is not 0."""
        used = [j for j, sign in enumerate(signs) if sign]
        matrix = [[self.k * (self.within[i][j] + self.delta[i] * self.delta[j]) for j in used] for i in used]
        for place in range(len(used)):
            matrix[place][place] += l2
        found = solve(matrix, [self.k * self.delta[j] - l1 * signs[j] for j in used])
        w = [Fraction(0)] * self.d
        for j, x in zip(used, found, strict=True):
            w[j] = x
        return w

    def minimiser(self, l2: float, l1: float, guess=None) -> Vector:
        """The minimiser for l2 > 0; `guess` is a point whose signs are tried first.

        For l1 > 0 by feature-sign search (Lee, Battle, Raina & Ng 2007), which ends after finitely many steps.
        """
        ridge, kink = Fraction(l2), Fraction(l1)
        if not kink:
            return self.on_signs([1] * self.d, ridge, kink)
        if guess is not None:
            signs = [int(np.sign(x)) for x in guess]
            w = self.on_signs(signs, ridge, kink)
            if self._is_minimiser(w, signs, kink):
                return w
        w, signs = [Fraction(0)] * self.d, [0] * self.d
        while True:
            gradient = self.gradient(w)
            excess, j = max((abs(gradient[j]) - kink if not w[j] else Fraction(0), j) for j in range(self.d))
            if excess <= 0:
                return w
            signs[j] = -1 if gradient[j] > 0 else 1
            while True:
                goal = self.on_signs(signs, ridge, kink)
                if all(x * sign >= 0 for x, sign in zip(goal, signs, strict=True)):
                    w = goal
                    break
                steps = [a / (a - b) for a, b in zip(w, goal, strict=True) if a * b < 0] + [Fraction(1)]
                points = [[a + t * (b - a) for a, b in zip(w, goal, strict=True)] for t in steps]
                w = min(points, key=lambda point: self.value(point, l2, l1))
                signs = [int(x > 0) - int(x < 0) for x in w]

    def _is_minimiser(self, w: Vector, signs: list[int], l1: Fraction) -> bool:
        if any(x * sign <= 0 for x, sign in zip(w, signs, strict=True) if sign):
            return False
        gradient = self.gradient(w)
        return all(abs(g) <= l1 for g, sign in zip(gradient, signs, strict=True) if not sign)
