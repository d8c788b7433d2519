"""The rows on which a score is read: all of them, or some of each class."""

from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam.tables import frames

MOST_ROWS = 10_000


class ReadRows(NamedTuple):
    """Rows, their classes and their weights."""

    X: Any
    positive: np.ndarray
    weights: np.ndarray  # they add up to ½ in each class
    places: np.ndarray  # which of the training rows these are
    effective: float  # effective sample size: with so many rows of equal weight, a mean is as exact as with these


def draw_rows(
    X: Any, positive: np.ndarray, weights: np.ndarray | None, seed: int | None, most: int = MOST_ROWS
) -> ReadRows:
    """All rows of positive weight, or `most` of them: half from each class, or all of a smaller class."""
    namespace = array_api.device_namespace(positive)
    xp: Any = namespace or np
    counted = xp.ones_like(positive) if weights is None else weights > 0.0
    classes = [xp.nonzero(counted & side)[0] for side in (~positive, positive)]
    sizes = [int(rows.shape[0]) for rows in classes]
    if sum(sizes) > most:
        rng = np.random.default_rng(seed)
        for label, room in enumerate(_rooms(sizes, most)):
            if sizes[label] > room:
                drawn: Any = rng.choice(sizes[label], room, replace=False)
                if namespace is not None:
                    drawn = array_api.beside(drawn, positive)
                classes[label] = xp.take(classes[label], drawn)
    index = np.sort(np.concatenate(list(map(array_api.on_host, classes))))

    places = index if namespace is None else array_api.beside(index, positive)
    chosen = array_api.on_host(xp.take(positive, places))
    if weights is None:
        mass = np.ones(chosen.size)
    else:
        mass = array_api.on_host(xp.take(weights, places))
    balanced = mass / (2.0 * np.where(chosen, mass[chosen].sum(), mass[~chosen].sum()))
    return ReadRows(
        X=_take_rows(X, index, positive.size),
        positive=chosen,
        weights=balanced,
        places=index,
        effective=1.0 / float(balanced @ balanced),
    )


def _rooms(sizes: list[int], most: int) -> list[int]:
    """How many rows of each class are taken, of classes of these sizes, which are more than `most` together."""
    smaller = min(*sizes, most // 2)
    if smaller == most // 2:
        return [smaller, smaller]
    return [smaller if size == smaller else most - smaller for size in sizes]


def _take_rows(X: Any, index: np.ndarray, n_rows: int) -> Any:
    """Some rows of X in the memory of the host; X itself if it has no others."""
    namespace: Any = array_api.device_namespace(X)
    if namespace is not None:
        return array_api.on_host(namespace.take(X, array_api.beside(index, X), axis=0))
    if index.size == n_rows:
        return X
    return frames.rows_of(X, index)
