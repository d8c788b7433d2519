"""The lists that tests run over: one line adds a new solver, penalty, container or estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from checks import Piece, signed_pieces
from other_toys import BEND, Huber, LogisticByPairs, PlainNet, QuadraticFromOutside, WeightedLasso
from scipy import sparse
from toy_loss import SquaredHingeByPairs
from toy_penalty import MCP as TextbookMCP

from vrspam import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    OneVsRestAUC,
    OPAUCClassifier,
    SOLAMClassifier,
    SPAMClassifier,
    VRSPAMClassifier,
)
from vrspam.objective import MCP, SCAD, Bounded, ElasticNet, SquaredHingeLoss, SquaredPairLoss
from vrspam.solvers import exact_solvers
from vrspam.solvers.gram import RidgePath
from vrspam.tables.learner import TableLearner, complete
from vrspam.tables.schema import Schema

DTYPES = [np.float64, np.float32]
CONTAINERS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
}
# (l2, l1) of an elastic net in units of 2pq · mean diagonal of H and of the least l1 that gives w = 0
STRENGTHS = {"ridge": (1e-2, 0.0), "weak_ridge": (1e-5, 0.0), "net": (1e-2, 0.1), "sparse_net": (1e-3, 0.5)}


class LossCase(NamedTuple):
    """A loss of rows X (dense or CSR) and labels y, and its oracle: "squared", "squared hinge" or None.

    `finest` is a tolerance that its certificate can reach: room for rounding keeps it above 0.
    """

    make: Callable
    oracle: str | None = None
    finest: float = 1e-14


class PenaltyCase(NamedTuple):
    """A penalty for four columns of about unit curvature, and its quadratic pieces for each, from its formula."""

    penalty: Any
    pieces: list[list[Piece]]


# Every loss, penalty and exact solver; each goes through every check, with each other.
LOSSES = {
    "squared, moments": LossCase(lambda X, y: SquaredPairLoss.from_moments(ClassMoments.from_data(X, y)), "squared"),
    "squared, rows": LossCase(
        lambda X, y: SquaredPairLoss.from_rows(X, y == 1, None, ClassMoments.from_data(X, y)), "squared"
    ),
    "squared, from outside": LossCase(QuadraticFromOutside.of, "squared"),
    "squared hinge, sorted": LossCase(
        lambda X, y: SquaredHingeLoss(X, y == 1, None, ClassMoments.from_data(X, y)), "squared hinge", 1e-12
    ),
    "squared hinge": LossCase(SquaredHingeByPairs, "squared hinge"),
    "logistic": LossCase(LogisticByPairs),
}
WEIGHTS = np.array([1.0, 0.5, 2.0, 1.5])
CURVATURE = np.array([0.9, 0.6, 1.1, 0.0])  # h of MCP and SCAD; where it is 0 they are l1 |w|


def mcp_pieces(l2, l1, gamma, h):
    """l1|w| - h w²/(2 gamma) up to |w| = gamma·l1/h, constant beyond; plus l2/2 w²."""
    if h == 0.0:
        return signed_pieces(l2, l1)
    end = gamma * l1 / h
    return signed_pieces(l2 - h / gamma, l1, most=end) + signed_pieces(l2, 0.0, least=end)


def scad_pieces(l2, l1, gamma, h):
    """l1|w| up to |w| = l1/h, (gamma l1 |w| - h w²/2)/(gamma - 1) up to gamma·l1/h, constant beyond; plus l2/2 w²."""
    if h == 0.0:
        return signed_pieces(l2, l1)
    first, end = l1 / h, gamma * l1 / h
    middle = signed_pieces(l2 - h / (gamma - 1), gamma * l1 / (gamma - 1), first, end)
    return signed_pieces(l2, l1, most=first) + middle + signed_pieces(l2, 0.0, least=end)


def huber_pieces(l2, l1):
    """l1 w²/(2 BEND) up to |w| = BEND, l1|w| beyond; plus l2/2 w²."""
    return signed_pieces(l2 + l1 / BEND, 0.0, most=BEND) + signed_pieces(l2, l1, least=BEND)


SIGNS = np.array([0.0, -np.inf, 0.0, -np.inf]), np.array([np.inf, 0.0, np.inf, np.inf])  # of the coefficients


def one_sided(pieces):
    """The pieces inside these limits."""
    return [
        [piece for piece in column if (high if piece.sign > 0 else -low) > 0.0]
        for column, low, high in zip(pieces, *SIGNS, strict=True)
    ]


PENALTIES = {
    "ridge": PenaltyCase(ElasticNet(0.02), 4 * [signed_pieces(0.02, 0.0)]),
    "elastic net": PenaltyCase(ElasticNet(0.01, 0.05), 4 * [signed_pieces(0.01, 0.05)]),
    "plain net": PenaltyCase(PlainNet(0.01, 0.05), 4 * [signed_pieces(0.01, 0.05)]),
    "MCP": PenaltyCase(
        TextbookMCP(0.04, 3.5), 4 * [signed_pieces(-1 / 3.5, 0.04, most=0.14) + signed_pieces(0.0, 0.0, least=0.14)]
    ),
    "mcp": PenaltyCase(MCP(0.01, 0.04, 3.0, CURVATURE), [mcp_pieces(0.01, 0.04, 3.0, h) for h in CURVATURE]),
    "scad": PenaltyCase(SCAD(0.0, 0.04, 3.7, CURVATURE), [scad_pieces(0.0, 0.04, 3.7, h) for h in CURVATURE]),
    "signs": PenaltyCase(Bounded(ElasticNet(0.01, 0.05), *SIGNS), one_sided(4 * [signed_pieces(0.01, 0.05)])),
    "ridge with signs": PenaltyCase(Bounded(ElasticNet(0.02), *SIGNS), one_sided(4 * [signed_pieces(0.02, 0.0)])),
    "mcp with signs": PenaltyCase(
        Bounded(MCP(0.01, 0.04, 3.0, CURVATURE), *SIGNS), one_sided([mcp_pieces(0.01, 0.04, 3.0, h) for h in CURVATURE])
    ),
    "huber": PenaltyCase(Huber(0.01, 0.05), 4 * [huber_pieces(0.01, 0.05)]),
    "huber with signs": PenaltyCase(Bounded(Huber(0.01, 0.05), *SIGNS), one_sided(4 * [huber_pieces(0.01, 0.05)])),
    "weighted lasso": PenaltyCase(WeightedLasso(0.04, WEIGHTS), [signed_pieces(0.0, 0.04 * c) for c in WEIGHTS]),
}
SOLVERS: dict[str, Callable] = {type(solver).__name__: type(solver) for solver in exact_solvers()}
SOLVERS["RidgePath"] = lambda: RidgePath(np.array([0.01, 0.02, 0.03, 0.04]))

# Every estimator under scikit-learn's checks.
ESTIMATORS = [
    AUCClassifier(),
    AUCClassifier(l1=0.01),
    AUCClassifier(l1=0.01, penalty="mcp"),
    AUCClassifier(bounds=(-0.5, 0.5)),
    AUCClassifierCV(cv=3),
    AUCClassifierCV(l1s=(0.0, 0.01), cv=3),
    AUCClassifierCV(cv=3, calibration="isotonic"),
    AUCClassifierCV(l2s=(0.01,), l1s="auto", penalty="scad", cv=3),
    AUCClassifier(l1=0.01, loss="squared_hinge"),
    AUCClassifier(loss="squared_hinge", max_fpr=0.5),
    AUCClassifierCV(loss="squared_hinge", cv=3),
    OneVsRestAUC(),
    OneVsRestAUC(l1=0.01),
    SPAMClassifier(),
    SPAMClassifier(l1=0.01, average=True),
    SOLAMClassifier(),
    OPAUCClassifier(),
    OPAUCClassifier(sketch=2),
    VRSPAMClassifier(),
    VRSPAMClassifier(l1=0.01),
    VRSPAMClassifier(l1=0.01, penalty="mcp"),
    VRSPAMClassifier(bounds=(-5.0, 5.0)),
    VRSPAMClassifier(variant="paper", l2=0.1),
]


def make_data(n=120, d=6, share=0.3, seed=0, correlated=True):
    """Two Gaussian classes, correlated columns of unequal spread, labels 0/1."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[: max(2, int(n * share))] = 1
    rng.shuffle(y)
    mix = rng.standard_normal((d, d)) if correlated else np.eye(d)
    X = rng.standard_normal((n, d)) @ mix * rng.uniform(0.5, 2.0, d) + rng.standard_normal(d)
    X[y == 1] += rng.standard_normal(d) * 0.7
    return X, y


def pairwise_auc(y, scores, weights=None):
    """AUC straight from its definition over all pairs: a positive above a negative counts 1, a tie one half."""
    positive = np.asarray(y) == np.max(y)
    scores = np.asarray(scores, dtype=float)
    weights = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=float)
    above = scores[positive][:, None] > scores[~positive]
    equal = scores[positive][:, None] == scores[~positive]
    pair_weights = np.outer(weights[positive], weights[~positive])
    return float((pair_weights * (above + 0.5 * equal)).sum() / pair_weights.sum())


def pairwise_objective(X, y, w, l2, l1=0.0, weights=None):
    """F by its definition, over all pairs, in long double."""
    X, w = np.asarray(X, dtype=np.longdouble), np.asarray(w, dtype=np.longdouble)
    c = np.ones(len(y), dtype=np.longdouble) if weights is None else np.asarray(weights, dtype=np.longdouble)
    positive = np.asarray(y) == np.max(y)
    scores = X @ w
    losses = (1 - (scores[positive][:, None] - scores[~positive][None, :])) ** 2
    pair_weights = np.outer(c[positive], c[~positive])
    p = c[positive].sum() / c.sum()
    smooth = p * (1 - p) * (losses * pair_weights).sum() / pair_weights.sum()
    return smooth + l2 / 2 * (w @ w) + l1 * np.abs(w).sum()


def scaled_penalty(moments, name):
    """The (l2, l1) of `STRENGTHS` for these data."""
    from vrspam.objective import l2_unit

    l2, l1 = STRENGTHS[name]
    largest_l1 = 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    return l2 * l2_unit(moments), l1 * largest_l1


def loss_of(X, y, weights=None):
    """The squared loss over pairs, from rows."""
    moments = ClassMoments(X.shape[1], classes=[0, 1], scatter=False).add_checked(X, y, weights)
    return SquaredPairLoss.from_rows(X, y == 1, weights, moments)


def hessian_and_delta(X, y, weights):
    """H = Σ₊ + Σ₋ + δδᵀ and δ by their definitions."""
    parts = []
    for label in (0, 1):
        rows, share = X[y == label].astype(float), weights[y == label] / weights[y == label].sum()
        mean = share @ rows
        parts.append((mean, (rows - mean).T @ ((rows - mean) * share[:, None])))
    delta = parts[1][0] - parts[0][0]
    return parts[0][1] + parts[1][1] + np.outer(delta, delta), delta


def partial_hinge_by_definition(X, y, w, max_fpr, weights=None):
    """pq · the mean over positives and the highest-scored negatives of total weight max_fpr, the last one in part."""
    c = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    s, positive = X @ w, y == 1
    a, b = c[positive] / c[positive].sum(), c[~positive] / c[~positive].sum()
    p = c[positive].sum() / c.sum()
    costs = a @ np.maximum(0.0, 1.0 - s[positive][:, None] + s[~positive]) ** 2
    total, left = 0.0, max_fpr
    for j in np.argsort(-s[~positive]):
        taken = min(b[j], left)
        total += taken * costs[j]
        left -= taken
    return p * (1 - p) * total / max_fpr


def learned_schema(frame) -> Schema:
    """The schema of a frame, with the means of all its rows."""
    learner = TableLearner()
    learner.add(frame)
    schema = learner.finish()
    return complete(schema, [schema.read(frame)[0]])
