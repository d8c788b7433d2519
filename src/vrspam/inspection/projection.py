"""The best additive reading of a score: its least-squares projection on functions of single columns over given rows.

With B the features of an additive map (their rows B_i, centred) and v_i the weights of the rows,

    minimise   Σ_i v_i (s_i - Σ_j B_ij c_j)²,     and of all solutions the one of least   Σ_j Var(B_j c_j).

The norm is the total variance of the curves. It does not depend on the basis of a column's functions, and it splits
an effect that several columns could explain equally well evenly between them. Nearly equal columns are treated in the
same way, because otherwise their large curves would cancel: directions in which curves of total variance 1 add up to a
function of variance below `NEARLY_TIED` are left out, unless a direction explains more of the variance of the score
than `LEFT_OUT`, and clearly more than by chance. So a score that is made of such a difference keeps it.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import linalg

from vrspam.features import AdditiveFeatures
from vrspam.inspection.rows import ReadRows

MANY_FUNCTIONS = 100  # of one column: the indicators of categories
TIED = 1e-6  # a sum of curves of total variance 1 that has a smaller variance than this is rounding error
NEARLY_TIED = 1e-2
LEFT_OUT = 1e-3


def whitening(covariance: np.ndarray) -> np.ndarray:
    """W such that Wᵀ C W is the identity; functions without variance, or that are sums of others, are left out."""
    within_column = 1e-9  # relative: functions of one column that are sums of others
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    if deviations.size == 1 and deviations[0] > 0.0:
        return 1.0 / deviations[:, np.newaxis]
    seen = np.flatnonzero(deviations > 0.0)
    if seen.size == 0:
        return np.zeros((covariance.shape[0], 0))

    scaled = covariance[np.ix_(seen, seen)] / np.outer(deviations[seen], deviations[seen])
    if seen.size > MANY_FUNCTIONS:  # a triangular W takes a tenth of the time
        factor, order, rank, _ = linalg.lapack.dpstrf(scaled, tol=within_column, lower=1)
        inverse = linalg.lapack.dtrtri(factor[:rank, :rank], lower=1)[0]
        used = seen[order[:rank] - 1]
        whitened = np.zeros((covariance.shape[0], rank))
        whitened[used] = np.tril(inverse).T / deviations[used, np.newaxis]
        return whitened

    values, vectors = linalg.eigh(scaled, check_finite=False)
    is_kept = values > within_column * values[-1]
    whitened = np.zeros((covariance.shape[0], int(is_kept.sum())))
    whitened[seen] = vectors[:, is_kept] / np.sqrt(values[is_kept]) / deviations[seen, np.newaxis]
    return whitened


class Projection:
    """Projects scores of the same rows on functions of single columns: the features of a fitted additive map.

    Directions in which columns nearly agree and `scores` (centred) hardly vary are left out.
    """

    def __init__(self, basis: AdditiveFeatures, rows: ReadRows, scores: np.ndarray):
        self.rows = rows
        self.slices = basis.column_slices_  # where the functions of each column are
        design = basis.features_of(rows.X).astype(np.float64, copy=False)
        by_class = np.stack([rows.weights * ~rows.positive, rows.weights * rows.positive], axis=1)
        class_means = design.T @ by_class
        self.centre = class_means.sum(axis=1)  # means of the functions
        self.difference = 2.0 * (class_means[:, 1] - class_means[:, 0])  # over positive rows, minus over the others
        design -= self.centre
        design[:, np.ptp(design, axis=0) == 0.0] = 0.0  # what is left of a constant function is rounding
        self.design = design

        # With fewer rows than functions, inner products of rows take the place of those of functions.
        weighted = design * np.sqrt(rows.weights)[:, np.newaxis]
        if len(design) <= design.shape[1]:
            self._gram: np.ndarray | None = None
            whitenings = [whitening(weighted[:, where].T @ weighted[:, where]) for where in self.slices]
            values, vectors = _directions_by_rows(weighted, whitenings, self.slices)
        else:
            gram = weighted.T @ weighted
            self._gram = gram
            whitenings = [whitening(gram[where, where]) for where in self.slices]
            values, vectors = _directions_by_functions(gram, whitenings, self.slices)
        stops = np.cumsum([w.shape[1] for w in whitenings]).tolist()
        self.white_slices = [slice(start, stop) for start, stop in pairwise([0, *stops])]

        # the same directions in coefficients of the functions themselves
        blocks = zip(whitenings, self.white_slices, strict=True)
        directions = np.concatenate([w @ vectors[where] for w, where in blocks])
        explained = (directions.T @ (design.T @ (rows.weights * scores))) ** 2 / values
        is_kept = (values >= NEARLY_TIED) | (explained > self._least_explained(explained, scores))
        self._values = values[is_kept]
        self._vectors = vectors[:, is_kept]
        self._directions = directions[:, is_kept]

    def _least_explained(self, explained: np.ndarray, scores: np.ndarray) -> float:
        """The variance of the scores that a nearly tied direction must explain in order to be kept."""
        chance = 16.0  # least multiple of the share of the rest that a direction explains by chance, 1 / rows
        variance = float(self.rows.weights @ scores**2)
        unexplained = max(variance - float(explained.sum()), 0.0)  # of which any direction explains a part by chance
        return max(LEFT_OUT * variance, chance * unexplained / self.rows.effective)

    def solve(self, weighted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of the whitened functions, and of the functions themselves.

        `weighted` are the scores of the rows (n × m), times their weights. The variance of a column's curve is the sum
        of the squares of its whitened coefficients.
        """
        along = self._directions.T @ (self.design.T @ weighted) / self._values[:, np.newaxis]
        return self._vectors @ along, self._directions @ along

    def covariance(self, functions: np.ndarray) -> np.ndarray:
        """Covariances of some functions over the rows."""
        if self._gram is not None:
            return self._gram[np.ix_(functions, functions)]
        values = self.design[:, functions]
        return values.T @ (self.rows.weights[:, np.newaxis] * values)


def _directions_by_rows(
    weighted: np.ndarray, whitenings: Sequence[np.ndarray], slices: Sequence[slice]
) -> tuple[np.ndarray, np.ndarray]:
    """Variances of orthogonal directions, and their whitened coefficients, from inner products of rows."""
    columns = weighted.T
    white = np.concatenate([w.T @ columns[where] for w, where in zip(whitenings, slices, strict=True)])
    values, vectors = _untied(white.T @ white)
    return values, white @ (vectors / np.sqrt(values))


def _directions_by_functions(
    gram: np.ndarray, whitenings: Sequence[np.ndarray], slices: Sequence[slice]
) -> tuple[np.ndarray, np.ndarray]:
    """Variances of orthogonal directions, and their whitened coefficients, from inner products of functions."""
    one_side = np.concatenate([w.T @ gram[where] for w, where in zip(whitenings, slices, strict=True)])
    # and on the other side: blocks on the diagonal are identities
    white = np.concatenate([w.T @ one_side.T[where] for w, where in zip(whitenings, slices, strict=True)])
    return _untied(white)


def _untied(products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues above rounding error, and their eigenvectors."""
    values, vectors = np.linalg.eigh(products)
    is_kept = values > TIED
    return values[is_kept], vectors[:, is_kept]
