"""Random trees without labels (`vrspam.features.trees`), and the leaves of rows in trees of any kind.

A tree is complete: node i has the children 2i + 1 and 2i + 2, and a node that is not split sends all rows to the left.
`codes` are whole numbers, the places of values among the quantiles of their column or the numbers of categories; -1 is
a missing value or an unknown category.
"""

from __future__ import annotations

import numpy as np

from vrspam.kernels.compiling import compiled

CATEGORY_PRIME = 65_521  # (code + 1) · multiplier modulo this puts categories into an order of their own at each node
NO_SPLIT = 2**31 - 1


@compiled
def _split_value(code, multiplier):
    """The number that a node compares with its threshold: the code, or the place of a category in the node's order."""
    return code if multiplier == 0 else (np.int64(code) + 1) * multiplier % CATEGORY_PRIME


@compiled
def _value_below(codes, rows, j, multiplier, highest, share):
    """The value in column j of a random one of the rows below the highest value; `share` is the random number."""
    below = 0
    for row in rows:
        below += codes[row, j] >= 0 and _split_value(codes[row, j], multiplier) < highest
    wanted = int(share * below)
    for row in rows:
        if codes[row, j] >= 0 and _split_value(codes[row, j], multiplier) < highest:
            if wanted == 0:
                return _split_value(codes[row, j], multiplier)
            wanted -= 1
    return highest


@compiled
def grow_trees(codes, is_category, rows, order, uniform, factors):
    """Grow trees on drawn rows: a random column that varies in the node, split at the value of one of its rows.

    `rows` (trees × rows) are the drawn rows, `order` (trees × columns) the order in which each tree looks for a column
    that varies, `uniform` (trees × nodes × 3) and `factors` (trees × nodes) the random numbers. Returns the columns,
    thresholds, multipliers and sides of absent values of all nodes.
    """
    n_trees, n_nodes = factors.shape
    n_columns = codes.shape[1]
    columns = np.zeros((n_trees, n_nodes), dtype=np.int32)
    thresholds = np.full((n_trees, n_nodes), NO_SPLIT, dtype=np.int32)
    multipliers = np.zeros((n_trees, n_nodes), dtype=np.int32)
    absent_left = np.ones((n_trees, n_nodes), dtype=np.bool_)
    begin = np.empty(2 * n_nodes + 1, dtype=np.int64)
    end = np.empty(2 * n_nodes + 1, dtype=np.int64)
    for t in range(n_trees):
        inside = rows[t].copy()
        begin[0], end[0] = 0, inside.size
        for node in range(n_nodes):
            first, last = begin[node], end[node]
            middle = last
            start = int(uniform[t, node, 0] * n_columns)
            for step in range(n_columns if last - first > 1 else 0):
                j = order[t, (start + step) % n_columns]
                multiplier = factors[t, node] if is_category[j] else 0
                lowest, highest, absent = NO_SPLIT, -1, 0
                for place in range(first, last):
                    code = codes[inside[place], j]
                    if code < 0:
                        absent += 1
                        continue
                    value = _split_value(code, multiplier)
                    lowest, highest = min(lowest, value), max(highest, value)
                if highest < 0 or (lowest == highest and absent == 0):
                    continue  # all rows are alike in this column
                threshold, left = highest, False  # missing values alone go to the right
                if lowest < highest:
                    threshold = _value_below(codes, inside[first:last], j, multiplier, highest, uniform[t, node, 1])
                    n_left = 0
                    for place in range(first, last):
                        code = codes[inside[place], j]
                        n_left += code >= 0 and _split_value(code, multiplier) <= threshold
                    left = uniform[t, node, 2] < 0.5 if absent > 0 else 2 * n_left >= last - first
                columns[t, node], thresholds[t, node], multipliers[t, node] = j, threshold, multiplier
                absent_left[t, node] = left
                middle = first
                for place in range(first, last):
                    row = inside[place]
                    code = codes[row, j]
                    if left if code < 0 else _split_value(code, multiplier) <= threshold:
                        inside[place], inside[middle] = inside[middle], row
                        middle += 1
                break
            begin[2 * node + 1], end[2 * node + 1] = first, middle
            begin[2 * node + 2], end[2 * node + 2] = middle, last
    return columns, thresholds, multipliers, absent_left


@compiled
def tree_leaves(codes, columns, thresholds, multipliers, absent_left):
    """The leaf of each row in each tree, from 0 on; shape (rows, trees), tree by tree in memory."""
    n_trees, n_nodes = columns.shape
    n = codes.shape[0]
    leaves = np.empty((n_trees, n), dtype=np.int16)
    for t in range(n_trees):
        for i in range(n):
            node = 0
            while node < n_nodes:
                code = codes[i, columns[t, node]]
                value = _split_value(code, multipliers[t, node])
                left = absent_left[t, node] if code < 0 else value <= thresholds[t, node]
                node = 2 * node + (1 if left else 2)
            leaves[t, i] = node - n_nodes
    return leaves.T


@compiled
def leaf_sums(landmark_leaves, coefs, n_leaves):
    """The sum of the coefficients (landmarks × m) of the landmarks in each leaf of each tree: trees × leaves × m."""
    sums = np.zeros((landmark_leaves.shape[1], n_leaves, coefs.shape[1]))
    for z in range(landmark_leaves.shape[0]):
        for t in range(landmark_leaves.shape[1]):
            for m in range(coefs.shape[1]):
                sums[t, landmark_leaves[z, t], m] += coefs[z, m]
    return sums


@compiled
def add_leaf_sums(sums, leaves, out):
    """Add to `out` (rows × m) the sum over all trees of what `leaf_sums` has for the leaf of each row."""
    for t in range(sums.shape[0]):
        of_tree = sums[t]
        for i in range(out.shape[0]):
            for m in range(out.shape[1]):
                out[i, m] += of_tree[leaves[i, t], m]


@compiled
def splits_as_masks(columns, thresholds, multipliers, absent_left, widths):
    """Thresholds and 64-bit masks by which rows reach the same leaves without a branch, and the depths of trees.

    Bit 0 of a mask is set where absent values go right, and bit c + 1 where the category of code c does. Categories
    have no threshold then, and bit 63 is never set. `widths` are the numbers of categories of each column. Below the
    depth of a tree no node is split.
    """
    limits = thresholds.copy()
    masks = np.zeros(columns.shape, dtype=np.uint64)
    depths = np.zeros(columns.shape[0], dtype=np.int64)
    one = np.uint64(1)
    for t in range(columns.shape[0]):
        for node in range(columns.shape[1]):
            if not absent_left[t, node]:
                masks[t, node] |= one
            if multipliers[t, node] != 0:
                limits[t, node] = NO_SPLIT
                for code in range(widths[columns[t, node]]):
                    if _split_value(code, multipliers[t, node]) > thresholds[t, node]:
                        masks[t, node] |= one << np.uint64(code + 1)
            if limits[t, node] != NO_SPLIT or masks[t, node] != 0:
                while (1 << depths[t]) <= node + 1:
                    depths[t] += 1
    return limits, masks, depths


@compiled
def _goes_right(code, limit, mask):
    """1 where a node of this limit and mask sends a code to the right, else 0."""
    bit = np.uint64(min(code + np.int32(1), np.int32(63)))
    return np.uint32(code > limit) | np.uint32((mask >> bit) & np.uint64(1))


@compiled
def _go_down(codes, column, limit, mask, depth, place, bits):
    """Write the place of each row among the nodes at this depth of one tree; `codes` are by columns, of few rows."""
    count = codes.shape[1]
    flat = codes.ravel()
    one = np.uint32(1)
    place[:] = 0
    for level in range(depth):
        first = np.uint32((1 << level) - 1)
        if level >= 4:
            for i in range(count):
                node = place[i] + first  # without a sign: an index that is not negative
                code = flat[np.uint32(column[node]) * np.uint32(count) + np.uint32(i)]
                place[i] = np.uint32(2) * place[i] + _goes_right(code, limit[node], mask[node])
            continue
        bits[:] = 0  # few nodes: each is asked for all rows, in loops that vectorise, and its answers are one bit
        for node in range(1 << level):
            line = codes[column[first + node]]
            most = limit[first + node]
            sides = mask[first + node]
            for i in range(count if most != NO_SPLIT or sides != 0 else 0):
                bits[i] |= _goes_right(line[i], most, sides) << np.uint32(node)
        for i in range(count):
            place[i] = np.uint32(2) * place[i] + ((bits[i] >> place[i]) & one)


@compiled
def tree_leaves_by_level(codes, columns, limits, masks, depths):
    """What `tree_leaves` returns; `codes` are by columns, of few rows, which go down a tree together."""
    n_trees, n_nodes = columns.shape
    count = codes.shape[1]
    leaves = np.empty((n_trees, count), dtype=np.int16)
    deepest = int(np.log2(n_nodes + 1))
    place = np.empty(count, dtype=np.uint32)
    bits = np.empty(count, dtype=np.uint32)
    for t in range(n_trees):
        _go_down(codes, columns[t], limits[t], masks[t], depths[t], place, bits)
        for i in range(count):  # what is not split sends all rows to the left
            leaves[t, i] = place[i] << np.uint32(deepest - depths[t])
    return leaves.T


@compiled
def count_shared_leaves(leaves, others):
    """In how many trees each row shares its leaf with each of the others, whose leaves have shape (trees, others)."""
    counts = np.zeros((leaves.shape[0], others.shape[1]), dtype=np.int16)
    for i in range(leaves.shape[0]):
        row = counts[i]
        for t in range(leaves.shape[1]):
            leaf = leaves[i, t]
            other = others[t]
            for j in range(other.size):
                row[j] += other[j] == leaf
    return counts
