"""`read_ahead`: items are made by other threads before they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import repeat
from typing import Any


def read_ahead(items: Iterator[Any], function: Callable[[Any], Any] | None = None, threads: int = 1) -> Iterator[Any]:
    """Yield the items, or function(item), in the order of the items; some are computed before they are asked for.

    Without a function one thread makes the items; otherwise `threads` threads compute at the same time. While a result
    is used, up to max(threads, 2) others may be waiting or being computed. An error is raised in its item's place.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="vrspam ahead")
    most_ahead = max(threads, 2)
    end = object()
    ahead: deque[Future] = deque()
    try:
        for task in _tasks(items, function, end):
            ahead.append(pool.submit(*task))
            if len(ahead) > most_ahead:
                result = ahead.popleft().result()
                if result is end:
                    return
                yield result
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        if isinstance(items, Generator):
            items.close()


def _tasks(items: Iterator[Any], function: Callable[[Any], Any] | None, end: object) -> Iterator[tuple[Any, ...]]:
    """What threads are to call, with its arguments: for the next item (`end` behind the last), or for each item."""
    if function is None:
        return repeat((next, items, end))
    return ((function, item) for item in items)
