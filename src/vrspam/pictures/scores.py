"""How the scores of both classes are spread."""

from __future__ import annotations

import numpy as np


def score_edges(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Limits of the bars of a distribution of scores; the outermost bars also hold the half percent beyond them."""
    low, high = np.quantile(scores, [0.005, 0.995])
    if not low < high:
        low -= 0.5
        high += 0.5
    smaller = min(positive.sum(), (~positive).sum())
    n_bars = int(np.clip(np.sqrt(smaller), 12, 40))
    return np.linspace(low, high, n_bars + 1)
