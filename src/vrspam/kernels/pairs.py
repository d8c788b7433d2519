"""Sums over pairs of rows in order: the squared hinge of sorted scores, wins by scores, moments of ranked pairs."""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from vrspam.kernels.compiling import TINY, compiled
from vrspam.kernels.prefetch import fetch_dense_row


@register_jitable
def part_of(edges, part, scores, weights, rows):
    """Scores, weights and numbers of the rows of a part; loops over slices from 0 on are a third faster."""
    inside = slice(edges[part], edges[part + 1])
    return scores[inside], weights[inside], rows[inside]


@compiled
def pair_hinge_sums(upper, a, lower, b, up, down, up_edges, down_edges, slope):
    """Return Σ_ij a_i b_j max(0, lower_j - upper_i)², and add half its derivatives along the scores to `slope`.

    `upper` are the positives' scores minus the margin and `lower` the negatives' scores, both sorted in each part, of
    which the edges are given; pairs are those of one part. `up` and `down` are the numbers of their rows in `slope`.
    One sweep goes down and adds the negatives that lie above a positive, one goes up and adds the positives that lie
    below a negative. Sums are kept relative to the place that the sweep has reached; a move of that place only adds
    terms that are not negative, so no digits cancel.
    """
    total = 0.0
    for part in range(up_edges.size - 1):
        over, c, p = part_of(up_edges, part, upper, a, up)
        under, d, q = part_of(down_edges, part, lower, b, down)
        if over.size == 0 or under.size == 0:
            continue
        mass, first, second = 0.0, 0.0, 0.0  # Σ b, Σ b (lower - place), Σ b (lower - place)²
        j = under.size - 1
        place = under[j]
        for i in range(over.size - 1, -1, -1):
            while j >= 0 and under[j] > over[i]:
                move = place - under[j]
                second += move * (2.0 * first + move * mass)
                first += move * mass
                place = under[j]
                mass += d[j]
                j -= 1
            if mass > 0.0:
                move = place - over[i]
                second += move * (2.0 * first + move * mass)
                first += move * mass
                place = over[i]
            slope[p[i]] -= c[i] * first
            total += c[i] * second
        mass, first = 0.0, 0.0
        i = 0
        place = over[0]
        for j in range(under.size):
            while i < over.size and over[i] < under[j]:
                first += (over[i] - place) * mass
                place = over[i]
                mass += c[i]
                i += 1
            if mass > 0.0:
                first += (under[j] - place) * mass
                place = under[j]
            slope[q[j]] += d[j] * first
    return total


@compiled
def pair_hinge_product(upper, a, lower, b, up, down, up_edges, down_edges, u, out):
    """Add half the Hessian of `pair_hinge_sums` times u, one number for each row, to `out`.

    Each pair with lower_j > upper_i adds a_i b_j (u_i - u_j) to row i and takes it from row j.
    """
    for part in range(up_edges.size - 1):
        over, c, p = part_of(up_edges, part, upper, a, up)
        under, d, q = part_of(down_edges, part, lower, b, down)
        mass, above = 0.0, 0.0  # Σ b and Σ b u of the negatives above
        j = under.size - 1
        for i in range(over.size - 1, -1, -1):
            while j >= 0 and under[j] > over[i]:
                mass += d[j]
                above += d[j] * u[q[j]]
                j -= 1
            out[p[i]] += c[i] * (mass * u[p[i]] - above)
        mass, below = 0.0, 0.0  # Σ a and Σ a u of the positives below
        i = 0
        for j in range(under.size):
            while i < over.size and over[i] < under[j]:
                mass += c[i]
                below += c[i] * u[p[i]]
                i += 1
            out[q[j]] += d[j] * (mass * u[q[j]] - below)


@compiled
def pair_hinge_reach(upper, a, lower, up_edges, down_edges, first, below):
    """Write the place of the first negative above each positive, and the weight of the positives below a negative."""
    for part in range(up_edges.size - 1):
        i = up_edges[part]
        mass = 0.0
        for j in range(down_edges[part], down_edges[part + 1]):
            while i < up_edges[part + 1] and upper[i] < lower[j]:
                first[i] = j
                mass += a[i]
                i += 1
            below[j] = mass
        first[i : up_edges[part + 1]] = down_edges[part + 1]


@compiled
def pair_wins(lines, orders, weight, upper, group, stratum, above, below):
    """For each row the mass of the rows that it is rightly above, and rightly `below` if not empty, by lines of scores.

    Rows are those of `vrspam.comparable.Comparable`, from the lowest to the highest of each stratum; a tie counts one
    half. A row has the mass `weight` as the lower row of pairs, and `upper` as the upper row; without the latter it is
    above none.

    Trees of sums over ranks of scores are filled from both ends: n log n steps. Of one stratum, `orders` may have the
    rows of each line by score; otherwise it has no rows.
    """
    n = group.size
    tree = np.zeros(n + 1)
    tied = np.zeros(n + 1)
    ranks = np.empty(n, np.intp)
    for line in range(lines.shape[0]):
        start = 0
        while start < n:
            stop = start
            while stop < n and stratum[group[stop]] == stratum[group[start]]:
                stop += 1
            order = orders[line] if orders.shape[0] > 0 else np.argsort(lines[line, start:stop])
            last = 0
            for place in range(stop - start):
                i = start + order[place]
                if place == 0 or lines[line, i] != lines[line, start + order[place - 1]]:
                    last += 1
                ranks[i] = last
            for upwards in (True, False):
                if not upwards and below.size == 0:
                    continue
                tree[: last + 1] = 0.0
                tied[: last + 1] = 0.0
                total = 0.0
                i = start if upwards else stop - 1
                step = 1 if upwards else -1
                while start <= i < stop:
                    j = i
                    while start <= j < stop and group[j] == group[i]:
                        won = 0.5 * tied[ranks[j]]
                        place = ranks[j] - 1
                        while place > 0:
                            won += tree[place]
                            place -= place & -place
                        if upwards:
                            above[line, j] = won if upper[j] > 0.0 else 0.0
                        else:
                            below[line, j] = total - won
                        j += step
                    while i != j:
                        mass = weight[i] if upwards else upper[i]
                        total += mass
                        place = ranks[i]
                        tied[place] += mass
                        while place <= last:
                            tree[place] += mass
                            place += place & -place
                        i += step
            start = stop


@compiled
def stratum_centre(X, places, offset, first, last, centre):
    """Write the first row, or of more than 64 rows the mean of about 64, to `centre`."""
    step = 1 if last - first <= 64 else -(-(last - first) // 64)
    count = 1 if step == 1 else -(-(last - first) // step)
    centre[:] = 0.0
    for k in range(count):
        row = X[places[first + k * step] - offset]
        for j in range(X.shape[1]):  # `centre` may have room for more
            centre[j] += row[j] / count


@compiled
def _row_of_its_own(X, i, factors, centre, lower, pilot, level, sums, middle, out, count):
    """What `pair_rows` does with a group of one row; short loops vectorise."""
    c, share, half, each, root = factors
    for j in range(X.shape[1]):
        x = X[i, j] - centre[j]
        v = x - share * lower[j] - pilot[j]
        lower[j] += c * x
        middle[j] += half * c * X[i, j]
        sums[j] += each * v
        out[count, j] = root * v
    for j in range(X.shape[1]):
        level[j] = max(level[j], abs(X[i, j] - centre[j]))


@compiled
def pair_rows(X, places, offset, first, last, group, weight, bounds, groups, pilot, state, level, sums, middle, out):
    """Write rows whose products add up to those of all pairs to `out`, see `vrspam.moments.pairs`; return their number.

    `groups` has for each group its stratum, the row after its last, e N + b, e w N, b w N/(N + w) and N; `bounds` are
    the first rows of the strata. `state` is carried from chunk to chunk: the centre of the stratum, the sum of the rows
    below, and that of the rows of a group so far, followed by its weight.
    """
    d = X.shape[1]
    centre, lower, part = state[0], state[1], state[2]
    run = np.empty(d)
    count = 0
    i = first
    while i < last:
        g = group[i]
        stratum = int(groups[0, g])
        end = int(groups[1, g])
        if i == bounds[stratum]:
            stratum_centre(X, places, offset, i, min(bounds[stratum + 1], last), centre)
            lower[:] = 0.0
        if i == 0 or group[i - 1] != g:
            part[:] = 0.0
        stop = min(end, last)
        each = groups[3, g]
        below = max(groups[5, g], TINY)
        half = 0.5 * groups[2, g]
        root = np.sqrt(each + groups[4, g])
        if stop == i + 1 and stop == end and part[d] == 0.0:  # a row of its own
            if i + 6 < last:  # rows lie anywhere: ask for one of the next
                fetch_dense_row(X, places[i + 6] - offset)
            factors = weight[i], 1.0 / below, half, each, root
            _row_of_its_own(X, places[i] - offset, factors, centre, lower, pilot, level, sums, middle, out, count)
            count += root > 0.0
            i = stop
            continue
        mass = 0.0
        run[:] = 0.0
        for r in range(i, stop):
            row = X[places[r] - offset]
            c = weight[r]
            mass += c
            for j in range(d):
                x = row[j] - centre[j]
                level[j] = max(level[j], abs(x))
                run[j] += c * x
        if stop - i > 1:
            for r in range(i, stop):
                row = X[places[r] - offset]
                own = np.sqrt(groups[2, g] * weight[r])
                for j in range(d):
                    out[count, j] = own * ((row[j] - centre[j]) - run[j] / mass)
                count += 1
        before = part[d]
        if before > 0.0:
            own = np.sqrt(groups[2, g] * before * mass / (before + mass))
            for j in range(d):
                out[count, j] = own * (run[j] / mass - part[j] / before)
            count += 1
        for j in range(d):
            middle[j] += half * (run[j] + mass * centre[j])
            part[j] += run[j]
        part[d] = before + mass
        if stop == end:
            if root > 0.0:
                for j in range(d):
                    v = part[j] / part[d] - lower[j] / below - pilot[j]
                    sums[j] += each * v
                    out[count, j] = root * v
                count += 1
            for j in range(d):
                lower[j] += part[j]
        i = stop
    return count
