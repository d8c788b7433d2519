"""SPAM: its gradient, its prox, its averages, and where it ends, against the objective and the exact solver."""

import numpy as np
import pytest
from helpers import make_data
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, ClassMoments, SPAMClassifier, kernels
from vrspam.objective import Objective
from vrspam.penalties.elastic_net import ElasticNet
from vrspam.solvers.online import SPAM, kernel_rows, known_sums, largest_square, step_rule
from vrspam.theory import spam_step

STORED = {"dense": np.asarray, "csr": sparse.csr_array, "float32": lambda X: X.astype(np.float32)}


def one_step(X, y, i, w, penalty, step):
    """Return the point after the first step, of length `step`, from w on row i."""
    method = SPAM(w.size)
    method.know(ClassMoments.from_data(X, y), 0.0)
    method.w = w.copy()
    method.carry[[kernels.Spam.LOWER, kernels.Spam.UPPER]] = method.classes.sums @ w
    method.advance(kernel_rows(X), np.array([i]), y, step_rule(step, penalty.l2), penalty.l1, learn=False)
    return method.coef


def gradients(X, y, w, l1=0.0):
    """Return the stochastic gradient of every row, from a step so short that the l1 threshold has no effect."""
    step = 1e-3
    moved = np.array([one_step(X, y, i, w, ElasticNet(0.0, l1), step) for i in range(len(y))])
    return (w - moved) / step


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_gradients_average_to_the_gradient_of_f(stored, share):
    X, y = make_data(60, 5, share=share)
    w = np.random.default_rng(1).standard_normal(5)
    expected = Objective.from_moments(ClassMoments.from_data(X, y), 0.0).gradient(w)
    tolerance = 1e-5 if stored == "float32" else 1e-9
    np.testing.assert_allclose(gradients(STORED[stored](X), y, w).mean(axis=0), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kernel", ["ridge", "net"])
@pytest.mark.parametrize("i", [0, 7, 23])
def test_a_step_solves_its_proximal_problem(kernel, i):
    """The step minimises ‖w' - v‖²/2 + η(l2/2 ‖w'‖² + l1 ‖w'‖₁), v = w - η g: 0 is a subgradient at w'.

    It fails for a prox that shrinks only negative weights and for one that forgets the step size.
    """
    X, y = make_data(40, 8)
    w = 3.0 * np.random.default_rng(i).standard_normal(8)
    step, l2, l1 = 0.05, 4.0, 0.0 if kernel == "ridge" else 30.0
    v = w - step * gradients(X, y, w)[i]
    moved = one_step(X, y, i, w, ElasticNet(l2, l1), step)
    slope = (v - moved) / step - l2 * moved  # must be in l1 · ∂|w'|
    np.testing.assert_allclose(slope[moved != 0], l1 * np.sign(moved[moved != 0]), rtol=0, atol=1e-9)
    assert (np.abs(slope[moved == 0]) <= l1).all()
    if kernel == "net":
        assert (moved > 0).any()
        assert (moved < 0).any()
        assert (moved == 0).any()


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_the_scaled_loop_equals_the_eager_one(stored, learn, average):
    X, y = make_data(400, 6)
    rows, side = kernel_rows(STORED[stored](X)), y.astype(np.int64)
    order = np.random.default_rng(0).integers(0, 400, 5000)  # several folds of the scale
    rule = step_rule("auto", 0.05)
    results = []
    for kernel in ("ridge", "net"):
        method = SPAM(6, average)
        if not learn:
            method.know(ClassMoments.from_data(X, y), largest_square(X))
        state = (rows, order, side, method.classes, learn, method.w, method.total, method.carry, rule)
        kernels.spam_steps(*state, 0.0 if kernel == "ridge" else 1e-300)  # too small to be seen, yet not 0
        results.append(method.coef)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("average", [False, True])
def test_parameters_may_change_in_a_stream(average):
    """l1 on, off and on again: the same as the eager loop throughout."""
    X, y = make_data(300, 4)
    rows, side, rule = kernel_rows(X), y.astype(np.int64), step_rule("auto", None)
    method, eager = SPAM(4, average), SPAM(4, average)
    for part, l1 in zip(np.split(np.arange(300), 3), (0.02, 0.0, 0.02), strict=True):
        method.advance(rows, part, side, rule, l1, learn=True)
        state = (rows, part, side, eager.classes, True, eager.w, eager.total, eager.carry, rule)
        kernels.spam_steps(*state, l1 or 1e-300)
        np.testing.assert_allclose(method.coef, eager.coef, rtol=1e-10)


@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_average_weighs_the_iterates_by_their_number(l1):
    X, y = make_data(50, 4)
    rows, side, rule = kernel_rows(X), y.astype(np.int64), step_rule("auto", 0.05)
    moments = ClassMoments.from_data(X, y)
    last, averaged = SPAM(4), SPAM(4, average=True)
    for method in (last, averaged):
        method.know(moments, largest_square(X))
    iterates = []
    for i in range(50):
        last.advance(rows, np.array([i]), side, rule, l1, learn=False)
        iterates.append(last.coef)
    averaged.advance(rows, np.arange(50), side, rule, l1, learn=False)
    np.testing.assert_allclose(averaged.coef, np.average(iterates, axis=0, weights=np.arange(1, 51)), rtol=1e-11)


@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_an_average_may_begin_and_end_within_a_stream(l1):
    """Steps 1 to 20 with an average, 21 to 40 without, and from 41 on a new average of only the new steps."""
    X, y = make_data(60, 4)
    rows, side, rule = kernel_rows(X), y.astype(np.int64), step_rule(0.05, 0.3)
    moments = ClassMoments.from_data(X, y)
    last, switched = SPAM(4), SPAM(4, average=True)
    for method in (last, switched):
        method.know(moments, 1.0)
    iterates = []
    for i in range(60):
        last.advance(rows, np.array([i]), side, rule, l1, learn=False)
        iterates.append(last.coef)
    for average, steps in ((True, range(20)), (False, range(20, 40)), (True, range(40, 60))):
        switched.set_average(average)
        switched.advance(rows, np.array(steps), side, rule, l1, learn=False)
        wanted = np.array(iterates)[steps], np.array(steps) + 1.0
        expected = np.average(wanted[0], axis=0, weights=wanted[1]) if average else iterates[steps[-1]]
        np.testing.assert_allclose(switched.coef, expected, rtol=1e-10)


def test_a_very_large_penalty_does_not_underflow():
    X, y = make_data(200, 4)
    model = SPAMClassifier(l2=1e6, step_size=10.0, average=True, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.abs(model.coef_).max() < 1e-5


@pytest.mark.parametrize("size", ["auto", 1.0])
def test_theoretical_step(size):
    """The step of the paper's analysis (`vrspam.theory`), computed from the step of one row at w = 0."""
    X, y = make_data(30, 3)
    X /= np.sqrt(largest_square(X))
    moments, l2 = ClassMoments.from_data(X, y), 5.0
    gradient = gradients(X, y, np.zeros(3))[4]
    for t in (1, 5, 1000):
        method = SPAM(3)
        method.know(moments, 1.0)
        method.carry[0] = t - 1
        method.advance(kernel_rows(X), np.array([4]), y.astype(np.int64), step_rule(size, l2, theory=True), learn=False)
        step = spam_step(l2, 128.0, t)
        np.testing.assert_allclose(method.coef, -step * gradient / (1.0 + step * l2), rtol=1e-9)


@pytest.mark.parametrize(
    ("l1", "settings", "tolerance"),
    [
        (0.0, {}, 1e-2),
        (0.0, {"average": True}, 1e-3),
        (0.0, {"schedule": "theory"}, 1e-3),
        (0.05, {}, 1e-2),
        (0.05, {"average": True}, 1e-2),
        (0.05, {"schedule": "theory", "average": True}, 1e-3),
    ],
)
def test_a_long_run_reaches_the_exact_coefficients(l1, settings, tolerance):
    X, y = make_data(300, 6, seed=3)
    X = StandardScaler().fit_transform(X)
    exact = AUCClassifier(l2=0.1, l1=l1, tol=1e-14).fit(X, y)
    model = SPAMClassifier(l2=0.1, l1=l1, max_iter=1500, random_state=0, **settings).fit(X, y)
    error = np.linalg.norm(model.coef_ - exact.coef_) / np.linalg.norm(exact.coef_)
    assert error <= tolerance
    assert exact.objective_ - 1e-9 <= model.objective_ <= exact.objective_ + model.gap_
    if l1 > 0:
        assert 0 < np.count_nonzero(exact.coef_) < 6
        assert (model.coef_[exact.coef_ == 0] == 0).any()  # the last iterate is noisy, but has zeros
        if settings.get("average"):
            np.testing.assert_array_equal(model.coef_ == 0, exact.coef_ == 0)


def test_the_variance_of_the_direction_does_not_vanish():
    """The reason for variance reduction: SPAM's gradients vary near the optimum as much as far from it."""
    X, y = make_data(200, 5)
    X = StandardScaler().fit_transform(X)
    best = AUCClassifier(l2=0.1, tol=1e-14).fit(X, y).coef_[0]

    def variance(w):
        return gradients(X, y, w).var(axis=0).sum()

    at_optimum = variance(best)
    assert at_optimum > 1e-2
    for epochs in (1, 10, 200):
        w = SPAMClassifier(l2=0.1, max_iter=epochs, random_state=0).fit(X, y).coef_[0]
        assert variance(w) > 0.5 * at_optimum


def test_history_and_certificate():
    X, y = make_data(200, 5)
    model = SPAMClassifier(l2=0.1, max_iter=7, random_state=0).fit(X, y)
    F = Objective.from_moments(ClassMoments.from_data(X, y), 0.1)
    assert model.n_iter_ == 7
    assert model.n_steps_ == 1400
    assert [len(column) for column in model.history_.values()] == [8] * 5
    assert model.history_["gap"][-1] == model.gap_ == pytest.approx(F.gap(model.coef_[0]))
    assert model.objective_ == pytest.approx(F.value(model.coef_[0]))
    np.testing.assert_allclose(model.history_["passes"], 1 + 2 * np.arange(8))


def test_tol_stops_early_or_warns():
    X, y = make_data(300, 4)
    X = StandardScaler().fit_transform(X)
    early = SPAMClassifier(l2=0.5, average=True, max_iter=500, tol=1e-3, random_state=0).fit(X, y)
    assert early.n_iter_ < 500
    assert early.gap_ <= 1e-3 * y.mean() * (1 - y.mean())
    from sklearn.exceptions import ConvergenceWarning

    with pytest.warns(ConvergenceWarning, match="max_iter"):
        SPAMClassifier(max_iter=1, tol=1e-12, random_state=0).fit(X, y)


def test_theory_needs_a_penalty():
    X, y = make_data(50, 3)
    for begin in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match="l2 > 0"):
            getattr(SPAMClassifier(l2=0.0, schedule="theory"), begin)(X, y)


def test_without_l2_there_is_a_result_but_no_certificate():
    X, y = make_data(200, 4)
    model = SPAMClassifier(l2=0.0, random_state=0).fit(X, y)
    assert model.objective_ < y.mean() * (1 - y.mean())
    assert model.gap_ is None


def test_unscaled_data_with_zeros_from_l1():
    X, y = load_breast_cancer(return_X_y=True)
    moments = ClassMoments.from_data(X, y)
    l1 = 0.3 * 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    for average in (False, True):
        model = SPAMClassifier(l1=l1, average=average, random_state=0).fit(X, y)
        assert model.objective_ <= moments.p * (1 - moments.p)
        assert (model.coef_ == 0).any()


def test_the_automatic_step_follows_the_mean_lipschitz_constant():
    """k Σ_c √(mean ‖x‖² · mean ‖x - μ_other‖²), each mean over the rows of class c."""
    X, y = make_data(70, 4, share=0.2, seed=8)
    X[y == 1] *= 3.0
    k, expected = 2 * np.mean(y) * (1 - np.mean(y)), 0.0
    for c in (0, 1):
        rows, other = X[y == c], X[y != c].mean(axis=0)
        expected += k * np.sqrt((rows**2).sum(axis=1).mean() * ((rows - other) ** 2).sum(axis=1).mean())
    found = kernels.mean_lipschitz(known_sums(ClassMoments.from_data(X, y)))
    assert found == pytest.approx(expected, rel=1e-12)
