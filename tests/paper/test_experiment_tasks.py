"""What runs compute, on a small plan: penalties, scores and figure rows against scikit-learn and the theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score, train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from vrspam import AUCClassifier
from vrspam.data import load
from vrspam.paper import publish
from vrspam.paper.protocol import GRID, demo_protocol, make_plan
from vrspam.paper.run import Store, Worker, read_all
from vrspam.paper.tasks import TrainTestSplit

SET = "breast-cancer"


def small(**changes):
    protocol = demo_protocol(sets=(SET,), runs=2, l2=(1e-2, 1e-1), l1=(1e-3, 1e-2))
    return replace(
        protocol,
        convergence=replace(protocol.convergence, sets=(SET,), epochs=(1, 2, 4)),
        variance=replace(protocol.variance, sets=(SET,), epochs=6),
        theorem=replace(protocol.theorem, sets=(SET,), epochs=3, seeds=4),
        **changes,
    )


def do(protocol, directory):
    worker = Worker(protocol, str(directory))
    for run in make_plan(protocol):
        assert worker(run).message == ""
    return read_all(directory)[0]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return do(small(), tmp_path_factory.mktemp("rows"))


def parts(seed):
    X, y = load(SET)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=y)
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def test_grid_equals_separate_fits(rows):
    for seed in (1, 2):
        X, X_test, y, y_test = parts(seed)
        grid = [row for row in rows if row["kind"] == "grid" and row["seed"] == seed]
        assert len(grid) == 2 * 3
        folds = StratifiedKFold(5, shuffle=True, random_state=seed)
        for row in grid:
            model = AUCClassifier(l2=row["l2"], l1=row["l1"], tol=1e-10)
            assert row["auc_cv"] == pytest.approx(cross_val_score(model, X, y, cv=folds).mean(), abs=1e-6)
            test = roc_auc_score(y_test, model.fit(X, y).decision_function(X_test))
            assert row["auc"] == pytest.approx(test, abs=1e-4)


def test_choice_is_the_best_of_its_kind(rows):
    for split in (0, 1):
        mine = [row for row in rows if row["algorithm"] == GRID and row["split"] == split]
        for l1_allowed in (False, True):
            grid = [row for row in mine if row["kind"] == "grid" and (row["l1"] > 0) == l1_allowed]
            (choice,) = [row for row in mine if row["kind"] == "choice" and (row["l1"] > 0) == l1_allowed]
            assert choice["auc_cv"] == pytest.approx(max(row["auc_cv"] for row in grid), abs=1e-9)


def test_vrspam_reaches_the_optimum_and_all_are_scored_on_unseen_rows(rows):
    results = [row for row in rows if row["kind"] == "result"]
    assert len(results) == 2 * 10
    for row in results:
        X, X_test, y, y_test = parts(row["seed"])
        exact = AUCClassifier(l2=row["l2"], l1=row["l1"], tol=1e-10).fit(X, y)
        assert row["auc_exact"] == pytest.approx(roc_auc_score(y_test, exact.decision_function(X_test)), abs=1e-4)
        assert row["excess"] == pytest.approx(row["objective"] - exact.objective_, abs=1e-8)
        assert row["excess"] <= row["gap"] + 1e-9
        assert (row["n_train"], row["n_test"], row["d"]) == (len(y), len(y_test), X.shape[1])
    assert publish.disagreements(results) == []
    assert publish.disagreements(results, "accelerated") == []
    assert {row["tuned"] is not None for row in results if row["algorithm"] in ("SOLAM", "OPAUC")} == {True}


def test_convergence_rows_move_toward_the_optimum(rows):
    curves = [row for row in rows if row["kind"] == "convergence"]
    assert {row["algorithm"] for row in curves} == set(small().convergence.algorithms)
    for algorithm in ("VRSPAM-L2", "accelerated-L2", "SPAM-L2"):
        mine = sorted(
            (row["epoch"], row["passes"], row["seconds"], row["excess"])
            for row in curves
            if row["algorithm"] == algorithm
        )
        epochs, passes, seconds, excess = zip(*mine, strict=True)
        assert epochs == (1, 2, 4)
        assert list(passes) == sorted(passes)
        assert list(seconds) == sorted(seconds)
        assert excess[-1] < excess[0]


def test_variance_of_vrspam_vanishes_and_spams_does_not(rows):
    curves = {
        name: [r for r in rows if r["kind"] == "variance" and r["algorithm"] == name]
        for name in ("VRSPAM-L2", "SPAM-L2")
    }
    ours = sorted(curves["VRSPAM-L2"], key=lambda row: row["epoch"])
    spam = sorted(curves["SPAM-L2"], key=lambda row: row["epoch"])
    assert [row["epoch"] for row in ours] == [2, 3, 4, 5, 6]
    assert all(row["variance"] <= row["bound_rows"] <= row["bound"] for row in ours)
    assert ours[-1]["variance"] < 0.5 * ours[0]["variance"]
    assert max(row["variance"] for row in ours) < 0.1 * min(row["variance"] for row in spam)
    assert spam[-1]["variance"] > 0.5 * spam[0]["variance"]


def test_theorem_holds_in_the_mean(rows):
    mine = [row for row in rows if row["kind"] == "theorem"]
    assert len(mine) == 3 * 4
    for epoch in (1, 2, 3):
        here = [row for row in mine if row["epoch"] == epoch]
        assert np.mean([row["distance"] for row in here]) <= here[0]["bound"] * (1 + 1e-12)
        assert len({row["bound"] for row in here}) == 1


def test_same_seed_same_rows(rows, tmp_path):
    again = do(small(runs=1).with_algorithms(["SPAM-L2", "VRSPAM-L2"]), tmp_path)
    clockless = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    for row in again:
        assert {k: v for k, v in row.items() if k != "seconds"} in clockless


def test_each_algorithm_may_choose_for_itself(tmp_path):
    protocol = small(cv="own").with_algorithms(["accelerated-NET", "SOLAM"])
    protocol = replace(protocol, runs=1)
    results = [row for row in do(protocol, tmp_path) if row["kind"] == "result"]
    X, _, y, _ = parts(1)
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    aucs = {
        (l2, l1): cross_val_score(AUCClassifier(l2=l2, l1=l1), X, y, cv=folds).mean()
        for l2 in protocol.l2
        for l1 in protocol.l1
    }
    (net,) = [row for row in results if row["algorithm"] == "accelerated-NET"]
    assert aucs[net["l2"], net["l1"]] == pytest.approx(
        max(aucs.values()), abs=1e-4
    )  # its fits are those of the optimum
    (solam,) = [row for row in results if row["algorithm"] == "SOLAM"]
    assert solam["l2"] in protocol.l2
    assert solam["l1"] == 0.0


def test_failure_of_a_needed_run_is_told(tmp_path):
    protocol = small()
    run = next(run for run in make_plan(protocol) if run.task == "score")
    outcome = Worker(protocol, str(tmp_path))(run)
    assert "needs" in outcome.message
    assert not Store(tmp_path).done(run, protocol.run_digest(run.algorithm, run.task))


@pytest.mark.parametrize("scaling", ["published", "standardised", "unit-rows"])
def test_scaling(scaling):
    X, y = load(SET)
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=3, stratify=y)
    split = TrainTestSplit(SET, 3, 0.2, scaling)
    if scaling == "unit-rows":
        expected = normalize(X[train]), normalize(X[test])
    elif scaling == "standardised":
        expected = (X[train] - X[train].mean(0)) / X[train].std(0), (X[test] - X[train].mean(0)) / X[train].std(0)
    else:
        expected = X[train], X[test]
    np.testing.assert_allclose(split.X, expected[0], atol=1e-9)
    np.testing.assert_allclose(split.X_test, expected[1], atol=1e-9)
