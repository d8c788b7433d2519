"""Piecewise linear functions of a column (`vrspam.features.encoders`), and sums over powers of a kernel."""

from __future__ import annotations

import numpy as np

from vrspam.kernels.compiling import compiled


@compiled
def write_curves(values, nodes, steps, bins, per_bin, table, slopes, extend, out):
    """Fill `out` (rows × q) with q functions that are linear between the nodes; those of a missing value are 0.

    `steps` are the distances of the nodes, and `slopes` the differences of the lines of `table`. Bins of equal width,
    `per_bin` of them in a unit, cover the nodes but the last; the last node at or below a value is one of those from
    `bins[b, 0]` to `bins[b, 1]`. Outside the nodes the functions go on as straight lines with `extend`, and else are
    constant.
    """
    last = steps.size - 1
    for i in range(values.size):
        value = values[i]
        if np.isnan(value):
            out[i] = 0.0
            continue
        place = 0
        if value >= nodes[last]:
            place = last
        elif value > nodes[0]:
            b = min(int((value - nodes[0]) * per_bin), bins.shape[0] - 1)
            place = int(bins[b, 0])
            left = bins[b, 1] - bins[b, 0] + 1
            while left > 1:
                half = left // 2
                place = place + half if nodes[place + half] <= value else place
                left -= half
        share = float((value - nodes[place]) / steps[place])
        if not extend:
            share = min(max(share, 0.0), 1.0)
        factor = table.dtype.type(share)
        for q in range(out.shape[1]):
            out[i, q] = table[place, q] + factor * slopes[place, q]


# The same for many columns of few rows (`vrspam.features.parts`), whose nodes lie one after the other. Bins of equal
# width cover the nodes of a column: a number in a lower bin is smaller, because rounding does not change the order.
PACKED_BINS = 256


@compiled
def _bin_of(value, first, per_bin):
    return min(int((value - first) * per_bin), PACKED_BINS - 1)


@compiled
def pack_bins(nodes, starts):
    """How many nodes of each column are in lower bins (columns × bins + 1), and how many bins there are in a unit."""
    columns = starts.size - 1
    bins = np.zeros((columns, PACKED_BINS + 1), dtype=np.int16)
    per_bin = np.zeros(columns)
    for j in range(columns):
        first = nodes[starts[j]]
        width = nodes[starts[j + 1] - 1] - first
        if width > 1e-290 and width < 1e290:
            per_bin[j] = PACKED_BINS / width
        for position in range(starts[j], starts[j + 1]):
            bins[j, _bin_of(nodes[position], first, per_bin[j]) + 1] += 1
        for b in range(PACKED_BINS):
            bins[j, b + 1] += bins[j, b]
    return bins, per_bin


@compiled
def _nodes_below(value, nodes, begin, end, bins, per_bin, or_equal):
    """How many of the nodes from `begin` to `end` are below a value, or equal to it."""
    if not value > nodes[begin]:
        return 1 if or_equal and value == nodes[begin] else 0
    if value > nodes[end - 1]:
        return end - begin
    b = _bin_of(value, nodes[begin], per_bin)
    low, high = int(bins[b]), int(bins[b + 1])
    while low < high:
        middle = (low + high) // 2
        node = nodes[begin + middle]
        if node < value or (or_equal and node == value):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def write_many_curves(X, nodes, starts, bins, per_bin, table, slopes, lines, places, extend, out):
    """Fill `out` with what `write_curves` gives for each column of X, and with indicators of missing values."""
    for j in range(X.shape[1]):
        begin, end, first, q = starts[j], starts[j + 1], places[j, 0], places[j, 1]
        missing = places[j + 1, 0] > first + q
        for i in range(X.shape[0]):
            value = X[i, j]
            if missing:
                out[i, first + q] = 1.0 if np.isnan(value) else 0.0
            if np.isnan(value):
                for k in range(q):
                    out[i, first + k] = 0.0
                continue
            below = _nodes_below(value, nodes, begin, end, bins[j], per_bin[j], True)
            place = max(min(below, end - begin - 1) - 1, 0)
            step = nodes[begin + place + 1] - nodes[begin + place] if end - begin > 1 else 1.0
            share = (value - nodes[begin + place]) / step
            if not extend[j]:
                share = min(max(share, 0.0), 1.0)
            at = lines[j, 0] + place * q
            along = lines[j, 1] + place * q
            for k in range(q):
                out[i, first + k] = table[at + k] + share * slopes[along + k]


@compiled
def places_of_many(X, nodes, starts, bins, per_bin):
    """How many of the nodes of its column are below each value of X; -1 for missing values."""
    out = np.empty(X.shape, dtype=np.int32)
    for j in range(X.shape[1]):
        begin, end = starts[j], starts[j + 1]
        for i in range(X.shape[0]):
            value = X[i, j]
            missing = np.isnan(value)
            out[i, j] = -1 if missing else _nodes_below(value, nodes, begin, end, bins[j], per_bin[j], False)
    return out


@compiled
def add_powers(values, powers, weights, out):
    """Add the sums over j and k of values[i, j] ** powers[k] · weights[k, c, j] to out[i, c]; powers are 1 or more."""
    n, m = values.shape
    square = np.empty_like(values[0])
    product = np.empty_like(values[0])
    for i in range(n):
        for k in range(powers.size):
            left = powers[k]
            begun = False
            for j in range(m):
                square[j] = values[i, j]
            while left > 0:
                if left & 1:
                    for j in range(m):
                        product[j] = product[j] * square[j] if begun else square[j]
                    begun = True
                left >>= 1
                if left > 0:
                    for j in range(m):
                        square[j] = square[j] * square[j]
            for c in range(out.shape[1]):
                total = out[i, c]
                for j in range(m):
                    total += product[j] * weights[k, c, j]
                out[i, c] = total
