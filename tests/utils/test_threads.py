"""Threads of BLAS: limits apply only inside their context, and change the speed but not the result."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_info, threadpool_limits

from vrspam import AUCClassifierCV
from vrspam._utils import blas
from vrspam._utils.blas import (
    FEW,
    NARROW,
    SMALL,
    blas_thread_count,
    blas_threads,
)
from vrspam.model_selection.sources import FoldProblem, over_folds


def counts() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_limit_holds_for_all_libraries_and_ends():
    before = counts()
    with blas_threads(1):
        assert set(counts()) == {1}
        assert blas_thread_count() == 1
    assert counts() == before
    assert blas_thread_count() == max(before)


def test_contexts_of_two_threads_may_overlap():
    """The first context to enter leaves first; when both have left, the original limit applies again."""
    with threadpool_limits(3, user_api="blas"):
        first, second = blas_threads(1), blas_threads(2)
        first.__enter__()
        assert set(counts()) == {1}
        second.__enter__()
        assert set(counts()) == {1}
        first.__exit__(None, None, None)
        assert set(counts()) == {2}
        second.__exit__(None, None, None)
        assert set(counts()) == {3}


def test_the_last_thread_to_leave_puts_back_what_was_before():
    """Although another thread was the first to enter."""
    entered, left = threading.Event(), threading.Event()

    def enter_and_leave_last():
        with blas_threads(2):
            entered.set()
            left.wait(timeout=30)

    with threadpool_limits(3, user_api="blas"):
        with blas_threads(1):
            other = threading.Thread(target=enter_and_leave_last)
            other.start()
            entered.wait(timeout=30)
            assert set(counts()) == {1}
        assert set(counts()) == {2}
        left.set()
        other.join()
        assert set(counts()) == {3}


def test_a_limit_ends_with_an_error():
    before = counts()
    with pytest.raises(RuntimeError), blas_threads(1):
        raise RuntimeError
    assert counts() == before


def test_inner_limits_never_raise_outer_ones():
    with threadpool_limits(3, user_api="blas"), blas_threads(1), blas_threads(2):
        assert set(counts()) == {1}


def test_a_limit_never_raises_the_number_of_threads():
    with threadpool_limits(1, user_api="blas"), blas_threads(3):
        assert set(counts()) == {1}


FORK_BESIDE_A_BUSY_THREAD = """
import json, os, signal, sys, threading, time, warnings
from threadpoolctl import threadpool_limits
from vrspam._utils.blas import blas_thread_count, blas_threads

warnings.simplefilter("ignore")  # that a process with threads forks
inside = sys.argv[1] == "inside"
blas_thread_count()  # loads the libraries
threadpool_limits(3, user_api="blas")
stop = threading.Event()

def enter_and_leave():
    while not stop.is_set():
        with blas_threads(2):
            pass

def child():
    found = [blas_thread_count()]
    with blas_threads(1):
        found.append(blas_thread_count())
    found.append(blas_thread_count())
    return 0 if found == ([1, 1, 1] if inside else [3, 1, 3]) else 1

def ended(pid):  # its exit code, or None if it hangs
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

thread = threading.Thread(target=enter_and_leave)
thread.start()
codes = []
for _ in range(40):
    with blas_threads(1 if inside else None):
        pid = os.fork()
        if pid == 0:
            os._exit(child())
        codes.append(ended(pid))
        if codes.count(None) == 3:
            break
stop.set()
thread.join()
print(json.dumps([codes, blas_thread_count()]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("where", ["outside", "inside"])
def test_a_forked_child_keeps_no_lock_and_no_limit_of_other_threads(where):
    """A thread of the parent enters and leaves all the time; the child knows only the limits of the forking thread."""
    program = [sys.executable, "-c", FORK_BESIDE_A_BUSY_THREAD, where]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True)
    codes, threads_of_the_parent = json.loads(done.stdout)
    assert codes == [0] * 40  # None: hung, 1: wrong number of threads
    assert threads_of_the_parent == 3


INTERRUPTED_FILES = {str(Path(module.__file__ or "")) for module in (blas, contextlib, threadpoolctl)}


def interrupt_at(number: int, use: Callable[[], None]) -> bool:
    """Raise KeyboardInterrupt at this event (call, line or bytecode) inside `use`; False if it has fewer."""
    blas_thread_count()  # finds the libraries, which is done once
    seen = 0

    def trace(frame, event, _argument):
        nonlocal seen
        if frame.f_code.co_filename not in INTERRUPTED_FILES:
            return None
        frame.f_trace_opcodes = frame.f_code.co_filename == blas.__file__
        seen += event != "return"  # at the end of a bytecode that was counted: Python handles no signal there
        if seen == number and event != "return":
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    try:
        sys.settrace(trace)
        use()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def use_once():
    with blas_threads(1):
        pass


def use_twice():
    with blas_threads(2), blas_threads(1):
        pass


@pytest.mark.parametrize(("use", "beside"), [(use_once, None), (use_once, 2), (use_twice, None)])
def test_an_interrupt_at_any_point_leaves_the_limits_as_they_were(use, beside):
    """Both the limits and the lock: another thread can enter and leave afterwards."""
    left, found = [], []
    libraries = threadpoolctl.ThreadpoolController().select(user_api="blas")  # looking for them takes milliseconds

    def counts():
        return [library["num_threads"] for library in libraries.info()]

    def enter_and_leave():
        with blas_threads(1):
            pass
        found.append(counts())

    with threadpool_limits(3, user_api="blas"), blas_threads(beside):
        expected = counts()
        number = 1
        while interrupt_at(number, use):
            if counts() != expected:
                left.append(number)
            if number % 10 == 0 or left:
                other = threading.Thread(target=enter_and_leave, daemon=True)
                other.start()
                other.join(timeout=10)
                assert found, f"interrupt {number} has left the lock behind"
                assert found.pop() == expected, f"interrupt {number} has left a limit behind"
            number += 1
    assert left == []
    assert number > 200  # the points there were


@pytest.mark.parametrize(("columns", "limited"), [(NARROW, True), (NARROW + 1, False)])
def test_narrow_products_have_one_thread(columns, limited):
    with threadpool_limits(2, user_api="blas"), blas_threads(columns=columns):
        assert set(counts()) == ({1} if limited else {2})


@pytest.mark.parametrize(("size", "expected"), [(NARROW, 1), (NARROW + 1, FEW), (SMALL, FEW), (SMALL + 1, FEW + 2)])
def test_small_matrices_have_few_threads(size, expected):
    with threadpool_limits(FEW + 2, user_api="blas"), blas_threads(columns=size, square=True):
        assert set(counts()) == {expected}
    with threadpool_limits(1, user_api="blas"), blas_threads(columns=size, square=True):
        assert set(counts()) == {1}  # never more than there were


def test_folds_side_by_side_change_no_result():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = X[:, 0] + np.abs(X[:, 1]) + rng.standard_normal(300) > 1
    models = []
    for threads, jobs in ((3, None), (1, None), (3, 1), (1, 2)):
        with threadpool_limits(threads, user_api="blas"):
            models.append(AUCClassifierCV(features="additive", n_jobs=jobs).fit(X, y))
    for model in models[1:]:
        assert np.array_equal(model.auc_path_, models[0].auc_path_)
        assert np.allclose(model.coef_, models[0].coef_, rtol=1e-10, atol=0)


def test_as_many_folds_at_a_time_as_asked_for():
    """Two folds wait for each other, so they must run at the same time; the BLAS threads are divided between them."""
    meeting = threading.Barrier(2)

    def fold(number):
        meeting.wait(timeout=30)
        return number, blas_thread_count()

    problem = FoldProblem(small=False, many_products=False, bytes_each=1)
    with threadpool_limits(FEW, user_api="blas"):
        found = over_folds(fold, range(2), problem, 2)
    assert [number for number, _ in found] == [0, 1]
    assert all(count <= max(1, (os.cpu_count() or 1) // 2) for _, count in found)


def test_folds_that_need_much_memory_run_one_after_the_other():
    running, most = [], []

    def fold(number):
        running.append(number)
        most.append(len(running))
        threading.Event().wait(0.02)
        running.remove(number)

    problem = FoldProblem(small=True, many_products=False, bytes_each=5 << 26)
    with threadpool_limits(FEW, user_api="blas"):
        over_folds(fold, range(4), problem, None)
    assert max(most) == 1
