"""Tests of the tridiagonal form of a symmetric matrix: against solutions of each shifted system."""

import threading
from fractions import Fraction

import numpy as np
import pytest

from vrspam._utils.blas import blas_threads
from vrspam.solvers.tridiagonal import solve_shifted


@pytest.mark.parametrize("size", [2, 3, 64, 65, 200])
@pytest.mark.parametrize("order", ["C", "F"])
def test_shifted_systems_are_solved(size, order):
    rng = np.random.default_rng(size)
    A = rng.standard_normal((size + 5, size))
    H = np.array(A.T @ A, order=order)
    b, shifts = rng.standard_normal(size), np.array([1e-3, 1.0, 50.0])
    expected = [np.linalg.solve(H + shift * np.eye(size), b) for shift in shifts]
    found = solve_shifted(H.copy(order="K"), b, shifts)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_small_system_is_solved_to_the_last_digits():
    H, b = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]), np.array([1.0, 2.0, 3.0])
    # (H + I) x = b by Cramer's rule
    M = [[Fraction(int(v)) + (i == j) for j, v in enumerate(row)] for i, row in enumerate(H)]

    def det(m):
        return (
            m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
        )

    expected = []
    for j in range(3):
        replaced = [[Fraction(int(b[i])) if k == j else M[i][k] for k in range(3)] for i in range(3)]
        expected.append(float(det(replaced) / det(M)))
    assert np.allclose(solve_shifted(H, b, np.array([1.0]))[0], expected, rtol=1e-14)


def test_a_matrix_that_is_not_positive_definite_is_an_error():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        solve_shifted(np.diag([1.0, -5.0, 2.0]), np.ones(3), np.array([1.0]))


def test_threads_solve_side_by_side():
    rng = np.random.default_rng(0)
    problems = []
    for _ in range(4):
        A = rng.standard_normal((90, 80))
        problems.append((A.T @ A, rng.standard_normal(80)))
    found = [np.empty(0)] * 4

    def solve(number):
        H, b = problems[number]
        found[number] = solve_shifted(H.copy(), b, np.array([0.1]))[0]

    threads = [threading.Thread(target=solve, args=(number,)) for number in range(4)]
    with blas_threads(1):  # as where folds are solved side by side
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for (H, b), x in zip(problems, found, strict=True):
        assert np.allclose((H + 0.1 * np.eye(80)) @ x, b, atol=1e-8)
