"""Columns sorted into bins: of about equal numbers of rows, or of a value or category each."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vrspam._utils.texts import number_labels

FINE_BINS = 20  # of a column of numbers, for mean scores


class ColumnBins(NamedTuple):
    """One column, sorted into bins."""

    codes: np.ndarray  # the bin of each row
    labels: tuple[str, ...]  # what the values of each bin are; a bin of missing values comes last
    # for numbers: bin i holds values above edges[i] up to edges[i + 1] (the first also its lower edge)
    edges: np.ndarray | None


def bin_numbers(values: np.ndarray, most: int) -> ColumnBins:
    """Bins with about equal numbers of rows; one bin for each value if there are at most `most` values.

    >>> bin_numbers(np.array([-0.0, 1.0, 0.0, np.nan]), 4).labels
    ('0', '1', 'missing')
    """
    values = np.asarray(values, dtype=np.float64) + 0.0  # no label is "-0"
    absent = np.isnan(values)
    present = values[~absent]
    codes = np.empty(values.size, dtype=np.intp)
    labels: list[str] = []
    edges = np.empty(0)

    if present.size:
        ordered = np.sort(present)
        different = ordered[np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True))]
        if different.size <= most:
            inner = different[:-1]
            labels = number_labels(different)
        else:
            inner = np.unique(ordered[np.arange(1, most) * ordered.size // most])
            inner = inner[inner < ordered[-1]]
        edges = np.concatenate([ordered[:1], inner, ordered[-1:]])
        if not labels:
            labels = [f"{low} to {high}" for low, high in pairwise(number_labels(edges))]
        codes[~absent] = np.searchsorted(inner, present, side="left")

    if absent.any():
        codes[absent] = len(labels)
        labels.append("missing")
    return ColumnBins(codes, tuple(labels), edges)


def bin_categories(codes: np.ndarray, names: tuple[str, ...], missing: bool, most: int) -> ColumnBins:
    """One bin for each category that occurs; if there are more than `most`, rare ones share the bin "others"."""
    n_names = len(names) + missing
    codes = np.where(codes < 0, n_names, codes)  # none of the categories
    counts = np.bincount(codes, minlength=n_names + 1)
    named = np.flatnonzero(counts[: len(names)])
    if named.size > most:
        named = np.sort(named[np.argsort(-counts[named], kind="stable")[: most - 1]])
    place = np.full(n_names + 1, -1)
    place[named] = np.arange(named.size)
    labels = [names[i] for i in named]

    others = np.ones(n_names + 1, dtype=bool)
    others[named] = False
    if missing:
        others[len(names)] = False
    if counts[others].any():
        place[others] = len(labels)
        labels.append("others")
    if missing and counts[len(names)]:
        place[len(names)] = len(labels)
        labels.append("missing")
    return ColumnBins(place[codes], tuple(labels), None)


def mean_at_numbers(
    values: np.ndarray, amounts: np.ndarray, weights: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, float | None]:
    """The means of `amounts` over rows with values at or near each of `at`, and over rows with missing values.

    Rows are sorted into at most `FINE_BINS` bins, equal values into the same one; means are interpolated between bins.
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(values)  # NaN comes last
    ordered = values[order]
    mass = weights[order]
    sums = mass * amounts[order]

    present = int(np.searchsorted(ordered, np.nan))
    missing_mass = mass[present:].sum()
    missing_mean = None
    if missing_mass > 0.0:
        missing_mean = float(sums[present:].sum() / missing_mass)
    if present == 0:
        return np.full(at.size, np.nan), missing_mean

    starts = np.flatnonzero(np.append(True, ordered[1:present] > ordered[: present - 1]))  # of bins: each value
    if starts.size > FINE_BINS:
        quantiles = ordered[np.arange(FINE_BINS) * present // FINE_BINS]
        starts = np.unique(np.searchsorted(ordered[:present], quantiles))
    bin_mass = np.add.reduceat(mass[:present], starts)
    sizes = np.diff(np.append(starts, present))
    share = mass[:present] / np.repeat(bin_mass, sizes)  # huge values stay within range
    centres = np.add.reduceat(share * ordered[:present], starts)
    bin_means = np.add.reduceat(sums[:present], starts) / bin_mass
    return np.interp(at, centres, bin_means), missing_mean
