"""Trees that learn from labels (`vrspam.features.boosted`), in the same form as random ones.

Each node has a histogram of each column: sums of gradients and curvatures and numbers of rows, by their `codes`
(columns × rows). Place 0 of a histogram is that of absent values, place c + 1 that of code c.
"""

from __future__ import annotations

import numpy as np

from vrspam.kernels.compiling import compiled
from vrspam.kernels.trees import NO_SPLIT


@compiled
def _fill_histogram(codes, starts, tried, rows, g, h, sums):
    """Write the histograms of some rows, for the columns that are tried."""
    for k in range(0, tried.size, 2):  # two at a time, so that no sum is read right after it was written
        a = tried[k]
        b = tried[min(k + 1, tried.size - 1)]
        first_of_a = starts[a] + 1
        first_of_b = starts[b] + 1
        codes_of_a = codes[a]
        codes_of_b = codes[b]
        sums[starts[a] : starts[a + 1]] = 0.0
        sums[starts[b] : starts[b + 1]] = 0.0
        for place in range(rows.size):
            row = np.uint64(rows[place])  # unsigned: no place is counted from the end
            place_of_a = np.uint64(first_of_a + codes_of_a[row])
            place_of_b = np.uint64(first_of_b + codes_of_b[row])
            sums[place_of_a, 0] += g[place]
            sums[place_of_a, 1] += h[place]
            sums[place_of_a, 2] += 1.0
            if a != b:
                sums[place_of_b, 0] += g[place]
                sums[place_of_b, 1] += h[place]
                sums[place_of_b, 2] += 1.0


@compiled
def _best_split(sums, starts, tried, totals, least, ridge, signs, ends, split):
    """The largest gain; its column, threshold and side of absent values go to `split`. It is 0 if none is allowed.

    Each side keeps `least` rows. Where the node has no absent values, they go with the larger side. With `signs`
    values lie between `ends`, and the value of the side of larger numbers is not smaller (1), or not larger (-1).
    """
    gain, column, threshold, absent_left = 0.0, 0, NO_SPLIT, True
    g, h, n = totals
    bounded = signs.size > 0
    low, high = ends
    without = -g * min(max(-g / (h + ridge), low), high) if bounded else g * g / (h + ridge)
    bar = without * (1.0 - 1e-12)
    for j in tried:
        first, last = starts[j] + 1, starts[j + 1]
        absent = sums[first - 1]
        for side in range(2 if absent[2] > 0.0 else 1):
            left_g, left_h, left_n = (0.0, 0.0, 0.0) if side == 0 else (absent[0], absent[1], absent[2])
            # with absent values on the right, all others may be on the left
            for place in range(first, last if side == 0 and absent[2] > 0.0 else last - 1):
                left_g += sums[place, 0]
                left_h += sums[place, 1]
                left_n += sums[place, 2]
                if not bounded:  # most splits gain less than the best so far; this test needs no division
                    a = left_h + ridge
                    b = h - left_h + ridge
                    if left_g * left_g * b + (g - left_g) * (g - left_g) * a < bar * (a * b):
                        continue
                if left_n < least:
                    continue
                if n - left_n < least:
                    break
                right_h = h - left_h
                if left_h < 1e-3 or right_h < 1e-3:
                    continue
                if bounded:
                    left = min(max(-left_g / (left_h + ridge), low), high)
                    right = min(max((left_g - g) / (right_h + ridge), low), high)
                    if (right - left) * signs[j] < 0.0:
                        continue
                    new = -left_g * left - (g - left_g) * right - without
                else:
                    new = left_g**2 / (left_h + ridge) + (g - left_g) ** 2 / (right_h + ridge) - without
                if new > gain:
                    gain = new
                    column = j
                    threshold = place - first
                    bar = (new + without) * (1.0 - 1e-12)
                    absent_left = side == 1 if absent[2] > 0.0 else 2.0 * left_n > n
    split[0], split[1], split[2] = column, threshold, absent_left
    return gain


@compiled
def _fill_gradients(rows, raw, target, weights, rate, inside, g, h, totals):
    """Write the rows of a tree, their gradients and curvatures, and the sums of both and the number of rows."""
    totals[0], totals[1], totals[2] = 0.0, 0.0, rows.size
    for place in range(rows.size):
        row = rows[place]
        inside[place] = row
        if rate > 0.0:
            p = 1.0 / (1.0 + np.exp(-raw[row]))
            g[place], h[place] = weights[row] * (p - target[row]), weights[row] * p * (1.0 - p)
        else:
            g[place], h[place] = weights[row] * (raw[row] - target[row]), weights[row]
        totals[0] += g[place]
        totals[1] += h[place]


@compiled
def _part_rows(line, threshold, absent_left, inside, g, h, spare, spare_g, spare_h):
    """Move the rows of a node that go to the left before the others; return their sums and their number."""
    count = np.uint64(0)
    kept = np.uint64(0)
    left_g, left_h = 0.0, 0.0
    for place in range(inside.size):
        row, x, y = inside[place], g[place], h[place]
        code = line[row]
        left = (code <= threshold) & (absent_left | (code >= 0))
        left_g += x if left else 0.0
        left_h += y if left else 0.0
        # Each row is written to both sides, and counts on one: without a branch, which no processor could predict.
        inside[count], g[count], h[count] = row, x, y
        spare[kept], spare_g[kept], spare_h[kept] = row, x, y
        count += np.uint64(left)
        kept += np.uint64(not left)
    inside[count:], g[count:], h[count:] = spare[:kept], spare_g[:kept], spare_h[:kept]
    return left_g, left_h, float(count)


@compiled
def _subtract_histogram(starts, tried, other, sums):
    """Take the histograms of one child, for the columns that are tried, from those of its parent."""
    for j in tried:
        for place in range(starts[j], starts[j + 1]):
            for part in range(3):
                sums[place, part] -= other[place, part]


@compiled
def _most_gaining(gains, active, count):
    """The place among the active nodes of the one whose split gains most."""
    best = 0
    for k in range(1, count):
        if gains[active[k]] > gains[active[best]]:
            best = k
    return best


@compiled
def _set_ends(ends, totals, node, sign, ridge):
    """Write the bounds of the values of a node's children: with a sign each stays on its side of the middle of both."""
    left, right = 2 * node + 1, 2 * node + 2
    low, high = ends[node]
    middle = 0.0
    for child in (left, right):
        ends[child, 0], ends[child, 1] = low, high
        middle += 0.5 * min(max(-totals[child, 0] / (totals[child, 1] + ridge), low), high)
    if sign != 0:
        below, above = (left, right) if sign > 0 else (right, left)
        ends[below, 1] = ends[above, 0] = middle


@compiled
def _write_leaves(active, totals, begin, end, inside, ridge, rate, raw, values, ends):
    """Write the values of the leaves of a tree and, where it is boosted, add them to the scores of their rows."""
    for leaf in active:
        value = -totals[leaf, 0] / (totals[leaf, 1] + ridge) if totals[leaf, 1] + ridge > 0.0 else 0.0
        value = min(max(value, ends[leaf, 0]), ends[leaf, 1])
        if rate > 0.0:
            value *= rate
            for place in range(begin[leaf], end[leaf]):
                raw[inside[place]] += value
        while leaf < values.size - 1:  # a node that is not split sends all rows to the left
            leaf = 2 * leaf + 1
        values[leaf - values.size + 1] = value


@compiled
def grow_labelled_trees(
    codes, starts, rows, target, weights, tried, leaves, depth, least, ridge, rate, raw, slots, signs
):
    """Grow trees on labels: the leaf that gains most is split next, up to `leaves` leaves and `depth` splits deep.

    With a positive `rate` the trees are boosted by the logistic loss, from the scores `raw` of the rows, which grow
    with them, and leaves hold steps of it; else each is grown on its own, and leaves hold the mean of `target` (0 or 1)
    minus `raw`. `rows` (1 or trees × m) are the rows of each tree, which may occur more than once. `tried` (trees × 1
    or nodes × m) are the columns that a tree, or each node, may split. Histograms of `slots` nodes are held at once: if
    these are more than `leaves`, that of the larger child is its parent's minus the smaller child's. With `signs` (else
    empty) the score rises with a column (1), or falls (-1): below a split of it, values stay on their side of the mean
    of the two children's values.
    Returns the columns, thresholds and sides of absent values of all nodes, and the values of all leaves.
    """
    n_trees, per_tree = tried.shape[:2]
    n_nodes = 2**depth - 1
    m = rows.shape[1]
    columns = np.zeros((n_trees, n_nodes), dtype=np.int32)
    thresholds = np.full((n_trees, n_nodes), NO_SPLIT, dtype=np.int32)
    sides = np.ones((n_trees, n_nodes), dtype=np.bool_)
    values = np.zeros((n_trees, n_nodes + 1))
    subtracts = slots >= leaves + 1 and per_tree == 1
    sums = np.zeros((slots, starts[-1], 3))
    gains, totals = np.empty(2 * n_nodes + 1), np.empty((2 * n_nodes + 1, 3))
    split = np.empty((2 * n_nodes + 1, 3), dtype=np.int64)
    begin, end, slot = np.zeros((3, 2 * n_nodes + 1), dtype=np.int64)
    ends = np.empty((2 * n_nodes + 1, 2))
    ends[:, 0], ends[:, 1] = -1e300, 1e300
    inside = np.empty(m, dtype=np.int64)
    spare = np.empty(m, dtype=np.int64)
    g = np.empty(m)
    h = np.empty(m)
    spare_g = np.empty(m)
    spare_h = np.empty(m)
    active = np.empty(leaves + 1, dtype=np.int64)
    for t in range(n_trees):
        _fill_gradients(rows[t % rows.shape[0]], raw, target, weights, rate, inside, g, h, totals[0])
        begin[0], end[0], free = 0, m, 1
        _fill_histogram(codes, starts, tried[t, 0], inside, g, h, sums[0])
        gains[0] = _best_split(sums[0], starts, tried[t, 0], totals[0], least, ridge, signs, ends[0], split[0])
        active[0] = 0
        count = 1
        while count < leaves:
            best = _most_gaining(gains, active, count)
            node = active[best]
            if gains[node] <= 0.0:
                break
            j, threshold, to_left = split[node]
            first = begin[node]
            last = end[node]
            columns[t, node], thresholds[t, node], sides[t, node] = j, threshold, to_left == 1
            own = slice(first, last)
            left = 2 * node + 1
            right = 2 * node + 2
            totals[left, 0], totals[left, 1], totals[left, 2] = _part_rows(
                codes[j], threshold, to_left == 1, inside[own], g[own], h[own], spare, spare_g, spare_h
            )
            totals[right] = totals[node] - totals[left]
            if signs.size > 0:
                _set_ends(ends, totals, node, signs[j], ridge)
            middle = first + int(totals[left, 2])
            begin[left], end[left], begin[right], end[right] = first, middle, middle, last
            active[best], active[count] = left, right
            count += 1
            gains[left] = gains[right] = 0.0
            if right >= n_nodes or count == leaves:  # as deep, or as many, as may be
                continue
            smaller, larger = (left, right) if 2 * (middle - first) <= last - first else (right, left)
            if subtracts:
                slot[smaller], slot[larger] = free, slot[node]
                free += 1
            for child in (smaller, larger):
                histograms = sums[slot[child]]
                tried_here = tried[t, child % per_tree]
                own = slice(begin[child], end[child])
                too_few = end[child] - begin[child] < 2 * least
                if subtracts and child == larger:
                    _subtract_histogram(starts, tried_here, sums[slot[smaller]], histograms)
                elif subtracts or not too_few:
                    _fill_histogram(codes, starts, tried_here, inside[own], g[own], h[own], histograms)
                if not too_few:
                    gains[child] = _best_split(
                        histograms, starts, tried_here, totals[child], least, ridge, signs, ends[child], split[child]
                    )
        _write_leaves(active[:count], totals, begin, end, inside, ridge, rate, raw, values[t], ends)
    return columns, thresholds, sides, values
