"""How alike pairs of rows are in the columns of a table.

It is told as a correlation: 1 if they are equal, 0 if they are like any two rows. For numbers it is the intraclass
correlation of ranks, for categories the agreement beyond chance, (a - c) / (1 - c), where a is the share of the pairs
that agree and c that of all pairs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from vrspam.checks.row_pairs import Pairs


@dataclass(frozen=True)
class Likeness:
    """How alike pairs of rows are in columns: codes, the share of all pairs that agree, ranks and their variance."""

    codes: Mapping[str, np.ndarray]
    values: Mapping[str, int]
    chances: Mapping[str, float]
    ranks: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray], texts: Collection[str]) -> Likeness:
        """Prepare columns of codes, without those that are nearly constant."""
        chances: dict[str, float] = {}
        ranks: dict[str, np.ndarray] = {}
        for name, codes in columns.items():
            chance = float(np.sum((np.bincount(codes + 1) / codes.size) ** 2))
            if chance > 0.95:
                continue
            chances[name] = chance
            if name not in texts:
                ranks[name] = standard_ranks(codes)
        kept = {name: columns[name] for name in chances}
        values = {name: int(codes.max()) + 1 for name, codes in kept.items()}
        return cls(kept, values, chances, ranks)

    def agreement(self, pairs: Pairs, without: str | None = None) -> dict[str, float]:
        """(a - c) / (1 - c) of each column but one: a is the share of the pairs that agree, c that of all pairs."""
        return {name: self._agreement_in(name, pairs) for name in self.codes if name != without}

    def _agreement_in(self, name: str, pairs: Pairs) -> float:
        chance = self.chances[name]
        return (self._share_that_agrees(name, pairs) - chance) / (1.0 - chance)

    def _share_that_agrees(self, name: str, pairs: Pairs) -> float:
        first, second = pairs
        codes = self.codes[name]
        return float(np.mean(codes[first] == codes[second]))

    def _correlation_in(self, name: str, pairs: Pairs) -> float:
        """The correlation of ranks in pairs; minus infinity without ranks, or where few pairs have both values."""
        if name not in self.ranks:
            return -np.inf
        first, second = pairs
        ranks = self.ranks[name]
        squares = (ranks[first] - ranks[second]) ** 2
        squares = squares[~np.isnan(squares)]
        if squares.size < 10:
            return -np.inf
        return 1.0 - float(squares.mean()) / 2.0

    def of_pairs(
        self, pairs: Pairs, without: str | None = None, only: Collection[str] | None = None
    ) -> dict[str, float]:
        """The agreement of each column; of numbers the correlation of ranks, if that is larger."""
        shares = {}
        for name in self.codes:
            if name == without or (only is not None and name not in only):
                continue
            shares[name] = max(self._agreement_in(name, pairs), self._correlation_in(name, pairs))
        return shares

    def always_differ(self, pairs: Pairs, names: Collection[str]) -> bool:
        """Whether pairs agree in one of these columns far less often than by chance, as in the number of a visit."""
        n_pairs = pairs[0].size
        for name in names:
            chance = self.chances[name]
            agree = self._share_that_agrees(name, pairs)
            errors_from_chance = (chance - agree) * np.sqrt(n_pairs / (chance * (1.0 - chance)))
            if agree < 0.5 * chance and errors_from_chance > 4.0:
                return True
        return False

    def beyond(self, pairs: Pairs, yardstick: Pairs | None, without: str | None = None) -> dict[str, float]:
        """How much more alike pairs are than the pairs of the yardstick, as a share of what these leave."""
        shares = self.of_pairs(pairs, without)
        if yardstick is None or yardstick[0].size < 10:
            return shares
        of_yardstick = self.of_pairs(yardstick, without)
        return {name: share_beyond(share, of_yardstick[name]) for name, share in shares.items()}


def share_beyond(share: float, yardstick: float) -> float:
    """How far a share lies above a yardstick, as a share of what is left up to 1; a yardstick below 0 counts as 0."""
    least = max(yardstick, 0.0)
    if least >= 1.0:
        return 0.0
    return (share - least) / (1.0 - least)


def mean_share(shares: Mapping[str, float]) -> float:
    """How alike rows are in the mean of the columns; in a column where they differ more than by chance, not at all."""
    if not shares:
        return 0.0
    return float(np.mean([max(share, 0.0) for share in shares.values()]))


def standard_ranks(codes: np.ndarray) -> np.ndarray:
    """The rank of each row by its code, ties in the middle, with the mean 0 and the variance 1; NaN if it is missing.

    >>> standard_ranks(np.array([0, 5, -1]))
    array([-1.,  1., nan])
    """
    present = codes >= 0
    counts = np.bincount(codes[present])
    middle_ranks = np.cumsum(counts) - (counts - 1) / 2.0
    ranks = np.full(codes.size, np.nan)
    ranks[present] = middle_ranks[codes[present]]
    deviation = float(np.nanstd(ranks))
    centred = ranks - np.nanmean(ranks)
    return centred / deviation if deviation > 0.0 else centred
