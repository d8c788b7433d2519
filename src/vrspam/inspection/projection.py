"""The best additive reading of a score: its least-squares projection on functions of single columns over given rows.

With B the features of an additive map (their rows B_i, centred) and v_i the weights of the rows,

    minimise   Σ_i v_i (s_i - Σ_j B_ij c_j)²,     and of all solutions the one of least   Σ_j Var(B_j c_j).

The norm is the total variance of the curves. It does not depend on the basis of a column's functions, and it splits
an effect that several columns could explain equally well evenly between them. Nearly equal columns are treated in the
same way, because otherwise their large curves would cancel: directions in which curves of total variance 1 add up to a
function of variance below `NEARLY_TIED` are left out, unless a direction explains more of the variance of the score
than `LEFT_OUT`, and clearly more than by chance. So a score that is made of such a difference keeps it.
"""

from itertools import pairwise

import numpy as np
from scipy import linalg

from vrspam.features import AdditiveFeatures
from vrspam.inspection.interactions import ReadRows

MANY_FUNCTIONS = 100  # of one column: the indicators of categories


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
        found = np.zeros((covariance.shape[0], rank))
        used = seen[order[:rank] - 1]
        inverse = linalg.lapack.dtrtri(factor[:rank, :rank], lower=1)[0]
        found[used] = np.tril(inverse).T / deviations[used, np.newaxis]
        return found
    values, vectors = linalg.eigh(scaled, check_finite=False)
    kept = values > within_column * values[-1]
    found = np.zeros((covariance.shape[0], int(kept.sum())))
    found[seen] = vectors[:, kept] / np.sqrt(values[kept]) / deviations[seen, np.newaxis]
    return found


TIED = 1e-6  # a sum of curves of total variance 1 that has a smaller variance than this is rounding error
NEARLY_TIED = 1e-2
LEFT_OUT = 1e-3


class Projection:
    """Projects scores of the same rows on functions of single columns: the features of a fitted additive map.

    Directions in which columns nearly agree and `scores` (centred) hardly vary are left out.
    """

    def __init__(self, basis: AdditiveFeatures, rows: ReadRows, scores: np.ndarray):
        self.rows, self.slices = rows, basis.column_slices_  # where the functions of each column are
        design = basis.features_of(rows.X).astype(np.float64, copy=False)
        by_class = np.stack([rows.weights * ~rows.positive, rows.weights * rows.positive], axis=1)
        means = design.T @ by_class
        # means of the functions; and those over positive rows, minus those over the others
        self.centre, self.difference = means.sum(axis=1), 2.0 * (means[:, 1] - means[:, 0])
        design -= self.centre
        design[:, np.ptp(design, axis=0) == 0.0] = 0.0  # what is left of a constant function is rounding
        self.design = design
        # With fewer rows than functions, inner products of rows take the place of those of functions.
        by_rows = len(design) <= design.shape[1]
        weighted = design * np.sqrt(rows.weights)[:, np.newaxis]
        self._gram = None if by_rows else weighted.T @ weighted
        grams = [
            weighted[:, where].T @ weighted[:, where] if self._gram is None else self._gram[where, where]
            for where in self.slices
        ]
        columns = list(zip(map(whitening, grams), self.slices, strict=True))
        white = weighted.T if self._gram is None else self._gram
        white = np.concatenate([w.T @ white[where] for w, where in columns])  # whitened functions × rows or functions
        if not by_rows:  # and on the other side: blocks on the diagonal are identities
            white = np.concatenate([w.T @ white.T[where] for w, where in columns])
        values, vectors = np.linalg.eigh(white.T @ white if by_rows else white)
        kept = values > TIED
        values, vectors = values[kept], vectors[:, kept]
        if by_rows:
            vectors = white @ (vectors / np.sqrt(values))
        stops = np.cumsum([w.shape[1] for w, _ in columns]).tolist()
        self.white_slices = [slice(*ends) for ends in pairwise([0, *stops])]
        # the same directions in coefficients of the functions themselves
        parts = zip(columns, self.white_slices, strict=True)
        directions = np.concatenate([w @ vectors[where] for (w, _), where in parts])
        chance = 16.0  # least multiple of the share of the rest that a direction explains by chance, 1 / rows
        explained = (directions.T @ (design.T @ (rows.weights * scores))) ** 2 / values
        variance = float(rows.weights @ scores**2)
        rest = max(variance - float(explained.sum()), 0.0)  # of which any direction explains a part by chance
        least = max(LEFT_OUT * variance, chance * rest / rows.effective)
        kept = (values >= NEARLY_TIED) | (explained > least)
        self._values, self._vectors, self._directions = values[kept], vectors[:, kept], directions[:, kept]

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
        some = self.design[:, functions]
        return some.T @ (self.rows.weights[:, np.newaxis] * some)
