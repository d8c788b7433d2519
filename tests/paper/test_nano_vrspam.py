"""examples/nano_vrspam.py, the paper's algorithm on one page: equal to the package, short, and NumPy alone."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest

from vrspam import AUCClassifier, ClassMoments, SPAMClassifier, VRSPAMClassifier
from vrspam.objective import Objective

PATH = Path(__file__).parents[2] / "examples" / "nano_vrspam.py"
L2 = 0.02
PENALTIES = pytest.mark.parametrize("l1", [0.0, 0.05], ids=["L2", "elastic net"])


@pytest.fixture(scope="module")
def nano():
    return runpy.run_path(str(PATH))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    positive = rng.random(300) < 0.2
    X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6)) + 0.3
    X[positive, :3] += 1.0
    return X, positive


def generator(seed):
    """The generator that the estimators make of `random_state=seed`."""
    return np.random.default_rng(np.random.RandomState(seed).randint(2**31, size=4))


def test_a_student_reads_it_in_one_sitting():
    text = PATH.read_text("utf-8")
    assert len(text.splitlines()) <= 200
    imported = {node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)}
    imported |= {a.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import) for a in node.names}
    assert imported == {"time", "typing", "numpy"}


@PENALTIES
def test_objective_gradient_and_certificate(nano, rows, l1):
    X, positive = rows
    problem = nano["make_problem"](X, positive, L2, l1)
    ours = Objective.from_moments(ClassMoments.from_data(X, positive), L2, l1)
    rng = np.random.default_rng(2)
    for w in (np.zeros(6), *rng.standard_normal((5, 6)), np.array([0.3, 0.0, 0.0, -0.1, 0.0, 0.0])):
        value, grad = ours.value_and_grad(w)
        assert nano["objective"](w, problem) == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(nano["gradient"](w, problem), grad, rtol=1e-10, atol=1e-14)
        assert nano["gap"](w, problem) == pytest.approx(ours.exact_certificate(w, grad)[0], rel=1e-10)
        pairs = 1 - (X[positive] @ w)[:, None] + (X[~positive] @ w)[None, :]
        p = positive.mean()
        assert nano["loss"](w, problem) == pytest.approx(p * (1 - p) * np.mean(pairs**2), rel=1e-10)
        mean = np.mean([nano["G"](w, i, problem) for i in range(len(X))], axis=0)
        np.testing.assert_allclose(mean, grad, rtol=1e-10, atol=1e-13)  # Lemma 1 of the paper


@PENALTIES
def test_exact_minimum(nano, rows, l1):
    X, positive = rows
    problem = nano["make_problem"](X, positive, L2, l1)
    best = nano["exact_minimum"](problem)
    ours = AUCClassifier(l2=L2, l1=l1, tol=1e-14).fit(X, positive)
    np.testing.assert_allclose(best, ours.coef_[0], rtol=0, atol=1e-8)
    np.testing.assert_array_equal(best == 0, ours.coef_[0] == 0)
    assert (best == 0).any() == (l1 > 0)
    assert nano["objective"](best, problem) == pytest.approx(ours.objective_, abs=1e-14)
    assert nano["gap"](best, problem) <= 1e-20


@PENALTIES
def test_passes_of_spam(nano, rows, l1):
    X, positive = rows
    problem, rng, w = nano["make_problem"](X, positive, L2, l1), generator(3), np.zeros(6)
    for passes in range(3):
        w = nano["spam"](problem, rng.permutation(300), w, taken=300 * passes)
        ours = SPAMClassifier(l2=L2, l1=l1, max_iter=passes + 1, random_state=3).fit(X, positive)
        np.testing.assert_allclose(w, ours.coef_[0], rtol=1e-10, atol=1e-12)


@PENALTIES
def test_epochs_of_vrspam(nano, rows, l1):
    """Algorithm 1 from one pass of SPAM, with the automatic step: every anchor's F and certificate, and the last w."""
    X, positive = rows
    problem, rng, epochs = nano["make_problem"](X, positive, L2, l1), generator(5), 8
    ours = VRSPAMClassifier(l2=L2, l1=l1, variant="paper", max_iter=epochs, tol=1e-30, random_state=5)
    with pytest.warns(match="tol"):
        ours.fit(X, positive)
    w = nano["spam"](problem, rng.permutation(300), np.zeros(6))
    eta = nano["auto_step"](problem)
    assert eta == pytest.approx(ours.history_["step_size"][-1], rel=1e-12)
    for s in range(epochs + 1 if l1 == 0 else epochs):  # with l1 the package ends with a proximal step
        assert nano["objective"](w, problem) == pytest.approx(ours.history_["objective"][s], rel=1e-12)
        assert nano["gap"](w, problem) == pytest.approx(ours.history_["gap"][s], rel=1e-6, abs=1e-16)
        previous, w = w, nano["vrspam"](problem, eta, rng.integers(300, size=300), w)
    if l1 == 0:
        np.testing.assert_allclose(previous, ours.coef_[0], rtol=1e-9)
    best = nano["exact_minimum"](problem)
    assert np.sum((w - best) ** 2) <= 2 * nano["gap"](w, problem) / L2


def test_it_prints_tables_in_which_the_gap_bounds_the_distance(nano, capsys):
    nano["main"](n=400, epochs=6)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    numbers = np.array([line for line in lines if line and line[0].isdigit()], dtype=float)
    assert len(numbers) == 2 * 7
    epochs, above, gaps = numbers[:, :3].T
    assert (above > 0).all()
    assert (above <= gaps).all()
    for start in (0, 7):
        assert epochs[start + 6] == 6
        assert above[start + 6] < 0.05 * above[start]
