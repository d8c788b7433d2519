"""VRSPAM in NumPy: the algorithm of Dan & Sahoo (AISTATS 2021) on one page. Run it:  python examples/nano_vrspam.py

A linear score w·x ranks rows. Its AUC is the share of pairs (a positive row x, a negative row x') with w·x > w·x'. The
paper maximises a convex stand-in: every pair should have the margin w·(x - x') = 1, and pays the square of what is
missing. With p the share of positives and a penalty Ω it minimises (paper, section 2)

    F(w) = f(w) + Ω(w),   f(w) = p(1-p) · mean over pairs of (1 - w·(x - x'))²,   Ω(w) = β/2 ‖w‖² + β₁ ‖w‖₁

β₁ = 0 is the paper's "L2", β₁ > 0 its "elastic net". (Section 2 of the paper writes β‖w‖²; its experiments, and we,
halve it.) Read on from top to bottom: 1. the objective, 2. its exact minimum, 3. a certificate, 4. SPAM, 5. VRSPAM.
The package computes the same numbers, much faster: tests/paper/test_nano_vrspam.py compares them.
"""

import time
from typing import NamedTuple

import numpy as np

# 1. The objective. There are n₊n₋ pairs, but f needs only two means and two covariances. Draw x and x' independently:
#    the margin has mean w·δ, with δ = μ₊ - μ₋, and variance wᵀ(Σ₊ + Σ₋)w; E(1 - margin)² = (1 - mean)² + variance:
#
#        f(w) = p(1-p) (1 - 2 w·δ + wᵀHw),   ∇f(w) = 2p(1-p) (Hw - δ),   H = Σ₊ + Σ₋ + δδᵀ


class Problem(NamedTuple):
    """The rows, which of them are positive, the two weights of Ω, and what f needs to know of the rows."""

    X: np.ndarray  # (n, d)
    positive: np.ndarray  # (n,), booleans
    beta: float  # β > 0: strong convexity
    beta1: float  # β₁ ≥ 0: weight of the 1-norm
    p: float  # share of positives
    mean_up: np.ndarray  # μ₊ = E[x | y = 1]
    mean_down: np.ndarray  # μ₋ = E[x | y = -1]
    H: np.ndarray  # (d, d)

    @property
    def delta(self):
        return self.mean_up - self.mean_down


def make_problem(X, positive, beta, beta1=0.0):
    up, down = X[positive], X[~positive]
    delta = up.mean(axis=0) - down.mean(axis=0)
    H = np.cov(up.T, bias=True) + np.cov(down.T, bias=True) + np.outer(delta, delta)
    return Problem(X, positive, beta, beta1, positive.mean(), up.mean(axis=0), down.mean(axis=0), np.atleast_2d(H))


def loss(w, problem):
    """f(w)"""
    return problem.p * (1 - problem.p) * (1 - 2 * w @ problem.delta + w @ problem.H @ w)


def gradient(w, problem):
    """∇f(w)"""
    return 2 * problem.p * (1 - problem.p) * (problem.H @ w - problem.delta)


def penalty(w, problem):
    """Ω(w)"""
    return problem.beta / 2 * w @ w + problem.beta1 * np.abs(w).sum()


def objective(w, problem):
    """F(w) = f(w) + Ω(w)"""
    return loss(w, problem) + penalty(w, problem)


def soft(u, threshold):
    """Move u towards 0 by the threshold, and stop at 0: the source of exact zeros in w."""
    return np.sign(u) * np.maximum(np.abs(u) - threshold, 0)


def prox(w, eta, problem):
    """prox_{ηΩ}(w) = argmin over v of ‖v - w‖²/2 + η Ω(v): soft-threshold by η β₁, then divide by 1 + η β."""
    return soft(w, eta * problem.beta1) / (1 + eta * problem.beta)


# 2. The exact minimum. f is a quadratic, so that the L2 problem is one system of linear equations:
#    ∇f(w) + βw = 0,  or  (2p(1-p)H + βI) w = 2p(1-p)δ.  With β₁ > 0 use coordinate descent: F as a function of w_j is
#    A w_j²/2 - B w_j + β₁|w_j| + constant, which is least at soft(B, β₁)/A. Sweeps over j converge to the minimum.


def exact_minimum(problem, sweeps=10_000, tolerance=1e-20):
    k, d = 2 * problem.p * (1 - problem.p), problem.H.shape[0]
    A, B = k * problem.H + problem.beta * np.eye(d), k * problem.delta
    w = np.linalg.solve(A, B)
    if problem.beta1 == 0:
        return w
    for _ in range(sweeps):
        for j in range(d):
            w[j] = soft(B[j] - A[j] @ w + A[j, j] * w[j], problem.beta1) / A[j, j]
        if gap(w, problem) <= tolerance * problem.p * (1 - problem.p):
            break
    return w


# 3. The certificate. How far is F(w) above its minimum F*, if F* is not known? f is convex and lies above its tangent:
#
#        F(v) ≥ f(w) + g·(v - w) + Ω(v)  for all v,   g = ∇f(w)
#
#    The right side is least at v = -s/β, s = soft(g, β₁), and this least value is a lower bound on F*. What is left is
#    the duality gap (Fenchel-Young); all of its terms are ≥ 0, and it is 0 only at the minimum:


def gap(w, problem):
    """An upper bound on F(w) - F*"""
    g = gradient(w, problem)
    s = soft(g, problem.beta1)
    shrunk = problem.beta * w + s  # for β₁ = 0 this is ∇F(w), and the gap is ‖∇F(w)‖²/(2β)
    return shrunk @ shrunk / (2 * problem.beta) + np.sum(problem.beta1 * np.abs(w) + (g - s) * w)


# 4. SPAM (Natole, Ying & Lyu 2018) takes one row z = (x, y) a step instead of all pairs. f is a saddle value,
#    f(w) = p(1-p) + min over a, b, max over ζ of E[F(w, a, b, ζ; z)], and the best a, b, ζ of each w are known. The
#    gradient of F(w, a, b, ζ; z) in w, at these a, b, ζ, is G(w; z): its mean over the rows is ∇f(w) (Lemma 1).


def G(w, i, problem):
    """The stochastic gradient G(w; z_i)"""
    x, p = problem.X[i], problem.p
    a, b = w @ problem.mean_up, w @ problem.mean_down
    zeta = b - a
    if problem.positive[i]:
        return 2 * (1 - p) * ((w @ x - a) - (1 + zeta)) * x  # = 2(1-p) (w·(x - μ₋) - 1) x
    return 2 * p * ((w @ x - b) + (1 + zeta)) * x  # = 2p (w·(x - μ₊) + 1) x


def lipschitz_rows(problem):
    """L_i: how fast G(w; z_i) can change with w. It is 2(1-p) ‖x‖ ‖x - μ₋‖ or 2p ‖x‖ ‖x - μ₊‖."""
    X, up, p = problem.X, problem.positive, problem.p
    other = np.where(up[:, None], problem.mean_down, problem.mean_up)
    factor = np.where(up, 2 * (1 - p), 2 * p)
    return factor * np.linalg.norm(X, axis=1) * np.linalg.norm(X - other, axis=1)


def spam(problem, order, w, taken=0):
    """Proximal steps on the rows `order`. The variance of G does not vanish, so that the steps must: η_t ~ 1/√t."""
    X, up, p = problem.X, problem.positive, problem.p
    size, far_up, far_down = (np.sum(Z**2, axis=1) for Z in (X, X - problem.mean_down, X - problem.mean_up))
    scale_up, scale_down = size[up].mean() * far_up[up].mean(), size[~up].mean() * far_down[~up].mean()
    mean_lipschitz = 2 * p * (1 - p) * (np.sqrt(scale_up) + np.sqrt(scale_down))  # a bound on the mean of L_i
    longest = 1 / np.maximum(lipschitz_rows(problem), 1e-300)
    for t, i in enumerate(order, start=taken + 1):
        eta = min(1 / (mean_lipschitz * np.sqrt(t)), longest[i])
        w = prox(w - eta * G(w, i, problem), eta, problem)
    return w


# 5. VRSPAM (Algorithm 1) keeps the step constant. Each epoch computes the full gradient μ̃ at an anchor w̃. A step then
#    uses v = G(w; z_i) - G(w̃; z_i) + μ̃: its mean is still ∇f(w), and its variance goes to 0 as w and w̃ go to w*. So the
#    error falls by a constant factor an epoch (Theorem 1), where SPAM's falls like 1/t. Its start is one pass of SPAM.


def vrspam(problem, eta, draws, w):
    """One epoch: len(draws) = m steps on the rows `draws` from the anchor w. Returns w̃_s, the next anchor."""
    anchor, full = w, gradient(w, problem)
    for i in draws:
        v = G(w, i, problem) - G(anchor, i, problem) + full
        w = prox(w - eta * v, eta, problem)
    return w


def auto_step(problem):
    """η = mean L / (2 mean L²). Theorem 1 proves η < β/(128 M⁴), M = max ‖x‖: safe, and far too short in practice."""
    lipschitz = lipschitz_rows(problem)
    return 0.5 * lipschitz.mean() / np.mean(lipschitz**2)


# 6. An experiment: 2,000 made-up rows, one in ten positive. The gap is known without F*, and always above F - F*.


def main(n=2000, d=10, epochs=10, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.1
    X = rng.standard_normal((n, d))
    X[positive, : d // 2] += 0.7  # the first half of the columns tells the classes apart
    for name, beta1 in (("L2", 0.0), ("elastic net", 0.01)):
        problem = make_problem(X, positive, beta=0.02, beta1=beta1)
        best = exact_minimum(problem)
        print(f"{name}: minimum F* = {objective(best, problem):.6f} with {np.count_nonzero(best)} of {d} columns")
        print(f"{'epochs':>8} {'F - F*':>10} {'certified gap':>14} {'seconds':>8}   {'SPAM, F - F*':>12}")
        slow = w = spam(problem, rng.permutation(n), np.zeros(d))
        eta, seconds = auto_step(problem), 0.0
        for s in range(epochs + 1):
            above, slow_above = (objective(u, problem) - objective(best, problem) for u in (w, slow))
            print(f"{s:8} {above:10.1e} {gap(w, problem):14.1e} {seconds:8.2f}   {slow_above:12.1e}")
            start = time.perf_counter()
            w = vrspam(problem, eta, rng.integers(n, size=n), w)
            seconds += time.perf_counter() - start
            for passes in (2 * s + 1, 2 * s + 2):  # an epoch of VRSPAM takes two: anchor and inner steps
                slow = spam(problem, rng.permutation(n), slow, taken=passes * n)
        print()


if __name__ == "__main__":
    main()
