"""Reading ahead: order, errors, and a thread that ends when the reader stops."""

import threading
import time
from typing import Any

import pytest

from vrspam.data.chunks import read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("vrspam reading ahead")]


def test_same_items_in_the_same_order_and_not_far_ahead():
    made = []

    def items():
        for number in range(50):
            made.append(number)
            yield number

    for number in read_ahead(items(), depth=2):
        time.sleep(0.001)
        assert len(made) <= number + 5
    assert made == list(range(50))
    assert not readers()


def test_errors_come_where_their_item_would():
    def items():
        yield 1
        raise ValueError("broken block")

    stream = read_ahead(items())
    assert next(stream) == 1
    with pytest.raises(ValueError, match="broken block"):
        next(stream)
    assert not readers()


def test_leaving_early_ends_the_thread_and_closes_the_source():
    closed = []

    def items():
        try:
            while True:
                yield 0
        finally:
            closed.append(True)

    for _ in read_ahead(items()):
        break
    stream: Any = read_ahead(items())
    next(stream)
    stream.close()
    assert closed == [True, True]
    assert not readers()
