"""Scores of several kernel maps of the same landmarks: distances are computed once, and exponentials where they differ.

Maps of "auto" have the same landmarks and differ by their bandwidths: k(x, z) of a narrow kernel is a power of that of
a wide one. So a sum of their scores takes little longer than the score of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vrspam.features.additive import AdditiveFeatures
from vrspam.features.base import FeatureMap
from vrspam.features.encoders import Curves, Encoder
from vrspam.features.kernel import KernelFeatures
from vrspam.features.landmarks import CACHED_ENTRIES
from vrspam.tables import frames

MOST_POWER = 256  # of a kernel: the relative error grows with the power
NEARLY_WHOLE = 1e-12


def same_encoders(one: Sequence[Encoder], other: Sequence[Encoder]) -> bool:
    """Whether columns are encoded alike."""
    return len(one) == len(other) and all(a is b or _same(a, b) for a, b in zip(one, other, strict=True))


def _same(a: Encoder, b: Encoder) -> bool:
    if not (isinstance(a, Curves) and isinstance(b, Curves)):
        return a == b if type(a) is type(b) else False
    alike = (a.missing, a.extend) == (b.missing, b.extend)
    return alike and np.array_equal(a.nodes, b.nodes) and np.array_equal(a.table, b.table)


def group_kernels(maps: Sequence[FeatureMap]) -> list[list[int]]:
    """The numbers of the maps, those of Gaussian kernels with the same landmarks together."""
    groups: list[list[int]] = []
    for number, new in enumerate(maps):
        for group in groups:
            first = maps[group[0]]
            if isinstance(new, KernelFeatures) and isinstance(first, KernelFeatures) and _same_kernels(new, first):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _same_kernels(a: KernelFeatures, b: KernelFeatures) -> bool:
    return np.array_equal(a.landmarks_, b.landmarks_) and same_encoders(a.encoders_, b.encoders_)


def products_of_kernels(maps: Sequence[KernelFeatures], X, coefs: Sequence[np.ndarray]) -> np.ndarray:
    """The features of each map, for a block of rows, times its coefs, added up; all maps have the same landmarks."""
    weights: dict[float, np.ndarray] = {}
    sums: list[tuple[AdditiveFeatures, np.ndarray]] = []
    for part, of_part in zip(maps, coefs, strict=True):
        split = part.n_features_out_ - part.whitening_.shape[1]
        weights[part.gamma_] = weights.get(part.gamma_, 0.0) + part.whitening_ @ of_part[split:]
        if part.additive_ is None:
            continue
        scaled = part.additive_scale_ * of_part[:split]
        for place, (known, total) in enumerate(sums):
            if same_encoders(known.encoders_, part.additive_.encoders_):
                sums[place] = known, total + scaled
                break
        else:
            sums.append((part.additive_, scaled))
    scores = _sum_of_bumps(maps, X, weights)
    for additive, total in sums:
        scores += additive._block_products(X, total)
    return scores


def _sum_of_bumps(maps: Sequence[KernelFeatures], X, weights: dict[float, np.ndarray]) -> np.ndarray:
    """K(X, Z) @ weights for each γ, added up."""
    from vrspam import kernels  # compiled code is loaded only when it is needed

    widest = min(maps, key=lambda part: part.gamma_)
    left, right = widest.exponents(X)
    ratios = {gamma: gamma / widest.gamma_ if widest.gamma_ > 0.0 else 1.0 for gamma in weights}
    powers = {gamma: round(ratio) for gamma, ratio in ratios.items()}
    whole = {gamma for gamma, power in powers.items() if _is_whole(ratios[gamma], power)}
    by_power = np.array([powers[gamma] for gamma in weights if gamma in whole], dtype=np.int64)
    # one line of weights for each power and column of scores
    stacked = np.array([weights[gamma].T for gamma in weights if gamma in whole], dtype=left.dtype)
    others = [(ratios[gamma], weights[gamma].astype(left.dtype)) for gamma in weights if gamma not in whole]
    out = np.zeros((len(left), stacked.shape[1]), dtype=left.dtype)
    for rows in frames.blocks(len(left), right.shape[1], CACHED_ENTRIES):
        exponents = left[rows] @ right
        for ratio, of_part in others:
            out[rows] += np.exp(left.dtype.type(ratio) * exponents) @ of_part
        kernels.add_powers(np.exp(exponents, out=exponents), by_power, stacked, out[rows])
    return out


def _is_whole(ratio: float, power: int) -> bool:
    return 1 <= power <= MOST_POWER and abs(ratio - power) <= NEARLY_WHOLE * power
