"""NumPy's shuffle, with random numbers that are drawn elsewhere."""

from __future__ import annotations

import numpy as np

from vrspam.kernels.compiling import compiled


@compiled
def shuffle_by_bits(values, left, bits, used):
    """Go on shuffling `values` in place with random 32-bit numbers, exactly as `numpy.random.RandomState.shuffle`.

    `left` is the place to be drawn for, at first the last one, and `used` how many of the numbers are spent. Returns
    both, when nothing is left to be drawn for or all numbers are spent.
    """
    chosen = np.empty(bits.size - used, dtype=np.uint32)
    start = left
    count = 0
    mask = np.uint32(0xFFFFFFFF)
    while left > 0 and used < bits.size:
        while (mask >> np.uint32(1)) >= left:
            mask = np.uint32(mask >> np.uint32(1))
        other = bits[used] & mask
        # A number that is too large is overwritten by the next: without a branch, which no processor could predict.
        chosen[count] = other
        step = int(other <= left)
        count += step
        left -= step
        used += 1
    for i in range(count):
        other = chosen[i]
        kept = values[start - i]
        values[start - i] = values[other]
        values[other] = kept
    return left, used
