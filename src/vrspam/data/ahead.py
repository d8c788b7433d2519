"""Read ahead: the next blocks are made in a thread while the present one is used."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from queue import Empty, Full, Queue
from typing import Any, TypeVar

Item = TypeVar("Item")
_WAIT = 0.1  # seconds after which a waiting reader looks whether it is still wanted


def ahead(items: Generator[Item, None, None], depth: int = 2) -> Iterator[Item]:
    """The same items in the same order, at most `depth` of them made before they are asked for.

    An error in `items` is raised where its item would have come. Leaving the loop early ends the thread.

    >>> list(ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    made: Queue[tuple[bool, Any]] = Queue(depth)
    unwanted = threading.Event()

    def offer(what: tuple[bool, Any]) -> bool:
        while not unwanted.is_set():
            try:
                made.put(what, timeout=_WAIT)
                return True
            except Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not offer((True, item)):
                    break
            else:
                offer((False, None))
        except BaseException as error:  # it belongs to whoever goes through the items
            offer((False, error))
        finally:
            items.close()

    thread = threading.Thread(target=work, name="vrspam reading ahead", daemon=True)
    thread.start()
    try:
        while True:
            more, item = made.get()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        unwanted.set()
        while True:  # let go of blocks nobody will see
            try:
                made.get_nowait()
            except Empty:
                break
        thread.join()
