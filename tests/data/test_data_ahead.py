"""Reading ahead: order, errors, and a thread that ends when the reader stops."""

import threading
import time
from typing import Any

import pytest

from vrspam.data.readers.ahead import read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("vrspam ahead")]


def test_same_items_in_the_same_order_and_not_far_ahead():
    made = []

    def items():
        for number in range(50):
            made.append(number)
            yield number

    for number in read_ahead(items()):
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


def test_items_are_mapped_in_their_order_and_not_far_ahead():
    made = []

    def items():
        for number in range(50):
            made.append(number)
            yield number

    def slowly(number):
        time.sleep(0.001 * (number % 3))
        return -number

    for place, found in enumerate(read_ahead(items(), slowly, 3)):
        assert found == -place
        assert len(made) <= place + 5
    assert made == list(range(50))
    assert not readers()


def test_errors_of_mapped_items_come_in_their_turn_and_leaving_early_ends_the_threads():
    closed = []

    def items():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    found = []
    with pytest.raises(ZeroDivisionError):  # noqa: PT012
        for number in read_ahead(items(), lambda number: 1 // (5 - number), 2):
            found.append(number)
    assert found == [0, 0, 0, 0, 1]
    for _ in read_ahead(items(), str, 2):
        break
    assert closed == [True, True]
    assert not readers()
