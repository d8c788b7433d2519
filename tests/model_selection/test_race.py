"""The race of feature maps on a part of many rows, and the progress that a fit shows."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit
from threadpoolctl import threadpool_limits

from vrspam import AUCClassifierCV
from vrspam._utils.progress import StepProgress
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import CategoriesGrouped
from vrspam.estimators.search import fit_read_columns
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, TreeFeatures
from vrspam.features.mapped import MappedArray, TooManyFeatures
from vrspam.model_selection import choose_model, maps_in_memory
from vrspam.model_selection import race as room
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.folds import FoldedRows, Split, make_splits
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.maps_in_memory import learn_maps
from vrspam.model_selection.sources import RowsInMemory
from vrspam.moments import ClassMoments
from vrspam.report.words.training import describe_step

SEARCH = GridSearch("auto", (0.0,), 1e-8, 1000, None)


def waves(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, (n, 3))
    return X, (np.sin(2.0 * X[:, 0]) + 0.5 * rng.standard_normal(n) > 0.5).astype(int)


def change_rules(monkeypatch, **changes):
    monkeypatch.setattr(room, "RULES", room.RULES._replace(**changes))


def two_heats(monkeypatch):
    change_rules(monkeypatch, finalists=2, still=0.0, again_from_rows=800, again=room.Heat(500, 300, 5))


@pytest.fixture
def _small_race(monkeypatch):
    change_rules(monkeypatch, from_rows=800, heat=room.Heat(300, 20, 3), finalists=1)


def run(X, y, maps, splits=None, weights=None, **changes):
    told: list[Candidate] = []
    classes = np.unique(y)
    splits = splits or make_splits(3, Rows(X, y, None), classes, None, 0)
    found = room.race(maps, FoldedRows(Rows(X, y, weights), splits, classes, y == classes[1]), SEARCH, told.append)
    return found, told


@pytest.mark.usefixtures("_small_race")
def test_lines_lose_against_curves_on_a_part_of_the_rows():
    X, y = waves()
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures(), "kernel": KernelFeatures(random_state=0)}
    found, told = run(X, y, maps)
    assert "lines" not in found.finalists
    assert len(found.finalists) == 1
    assert set(found.finalists) | set(found.others) == set(maps)
    assert found.others["lines"].n_rows == 300
    assert [candidate.name for candidate in told] == list(maps)
    assert all(map_ is maps[name] for name, map_ in found.finalists.items())  # not fitted on the part
    assert not hasattr(maps["curves"], "encoders_")


def test_few_rows_or_maps_do_not_race(monkeypatch):
    X, y = waves(300)
    maps = {name: LinearFeatures() for name in "abcd"}
    assert run(X, y, maps)[0] == (maps, {})
    change_rules(monkeypatch, from_rows=100)
    few = dict(list(maps.items())[: room.RULES.finalists])
    assert run(X, y, few)[0] == (few, {})


def test_the_part_has_rows_of_both_classes_and_no_row_without_weight():
    rng = np.random.default_rng(0)
    positive = rng.random(20_000) < 0.01
    weights = (rng.random(20_000) < 0.9).astype(float)
    numbers, heat = np.arange(20_000.0)[:, np.newaxis], room.Heat(4_000, 1, 1)

    def part_of(positive, weights):
        folds = FoldedRows(Rows(numbers, positive, weights), [], np.array([False, True]), positive)
        return heat._part(folds, rng).rows.X[:, 0].astype(int)

    part = part_of(positive, weights)
    assert part.size == 4_000 == np.unique(part).size
    assert (weights[part] > 0.0).all()
    assert positive[part].sum() == (positive & (weights > 0.0)).sum()
    assert part_of(rng.random(20_000) < 0.5, None).size == 4_000


@pytest.mark.usefixtures("_small_race")
@pytest.mark.parametrize("splitter", [GroupKFold(4), TimeSeriesSplit(3)])
def test_folds_on_the_part_are_those_of_all_rows(splitter, monkeypatch):
    X, y = waves()
    groups = np.arange(900) // 9
    splits = [Split(*pair) for pair in splitter.split(X, y, groups if isinstance(splitter, GroupKFold) else None)]
    seen = []
    plain = maps_in_memory.MapsInMemory.evaluate

    def listen(evaluator, *of_map):
        seen.append((evaluator.folds.rows, evaluator.folds.splits))
        return plain(evaluator, *of_map)

    monkeypatch.setattr(maps_in_memory.MapsInMemory, "evaluate", listen)
    run(X, y, {"lines": LinearFeatures(), "curves": AdditiveFeatures()}, splits)
    rows, inside = seen[0]
    where = {tuple(row): i for i, row in enumerate(X)}
    place = np.array([where[tuple(row)] for row in rows.X])
    for split, part in zip(splits[: room.RULES.heat.folds], inside, strict=True):
        assert set(place[part.validation]) == set(split.validation) & set(place)
        assert set(place[part.train]) == set(split.train) & set(place)


@pytest.mark.usefixtures("_small_race")
def test_a_fit_lists_all_maps_and_says_how_many_rows_each_was_compared_on():
    X, y = waves()
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures(), "trees": TreeFeatures(n_landmarks=50)}
    model = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y)
    table = model.selection_
    assert table["features"] == list(maps)
    assert sorted(table["rows"]) == [300, 300, 900]
    (chosen,) = np.flatnonzero(table["chosen"])
    assert table["rows"][chosen] == 900
    assert np.isfinite(model.corrected_score_)
    alone = AUCClassifierCV(features={table["features"][chosen]: maps[table["features"][chosen]]}, cv=3, random_state=0)
    found, expected = (one.decision_function(X[:9]) for one in (model, alone.fit(X, y)))
    # probabilities, and so the zero of the scores, depend on how many maps the choice was made of
    np.testing.assert_allclose(found - found[0], expected - expected[0])


class Fading(TransformerMixin, BaseEstimator):
    """The best map of few rows, which tells nothing of many."""

    def fit(self, X, y=None):
        self.few_ = X.shape[0] <= 300
        return self

    def transform(self, X):
        return np.sin(2.0 * X[:, :1]) if self.few_ else X[:, 1:2]


@pytest.mark.usefixtures("_small_race")
def test_a_map_that_left_too_early_comes_back():
    X, y = waves()
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures(), "fading": Fading()}
    found, _ = run(X, y, maps)
    assert list(found.finalists) == ["fading"]
    table = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y).selection_
    assert dict(zip(table["features"], table["rows"], strict=True)) == {"lines": 300, "curves": 900, "fading": 900}
    assert dict(zip(table["features"], table["chosen"], strict=True))["curves"]


@pytest.mark.usefixtures("_small_race")
def test_finalists_of_very_many_rows_meet_on_a_larger_part(monkeypatch):
    two_heats(monkeypatch)
    X, y = waves()
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures(), "again lines": LinearFeatures()}
    found, _ = run(X, y, maps)
    assert list(found.finalists) == ["curves"]
    assert sorted(other.n_rows for other in found.others.values()) == [300, 500]
    change_rules(monkeypatch, again_from_rows=1_000)
    assert len(run(X, y, maps)[0].finalists) == 2


@pytest.mark.usefixtures("_small_race")
def test_of_very_many_rows_one_map_goes_on_unless_a_blend_is_asked_for(monkeypatch):
    two_heats(monkeypatch)
    X, y = waves()
    curves = {"curves": AdditiveFeatures(), "the same": AdditiveFeatures(n_knots=15), "lines": LinearFeatures()}
    model = AUCClassifierCV(features=curves, cv=3, random_state=0).fit(X, y)
    assert sorted(model.selection_["rows"]) == [300, 500, 900]
    assert sum(model.selection_["chosen"]) == 1
    blend = AUCClassifierCV(features=curves, cv=3, random_state=0, selection="blend").fit(X, y)
    assert sorted(blend.selection_["rows"]) == [300, 900, 900]
    assert sum(blend.selection_["chosen"]) == 2


@pytest.mark.usefixtures("_small_race")
def test_of_kernels_of_a_kind_the_narrowest_goes_on_without_another_heat(monkeypatch):
    """Where both reach the end: of other kinds, or where a blend is asked for, they meet on a larger part."""
    two_heats(monkeypatch)
    X, y = waves()
    few = {"n_landmarks": 30, "random_state": 0}
    kernels = {"wide": KernelFeatures(bandwidth=1.1, **few), "narrow": KernelFeatures(**few), "lines": LinearFeatures()}
    found, _ = run(X, y, kernels)
    assert list(found.finalists) == ["narrow"]
    assert found.others["wide"].n_rows == 300
    found, _ = run(X, y, {**kernels, "wide": KernelFeatures(bandwidth=1.1, additive=False, **few)})
    assert sorted(other.n_rows for other in found.others.values()) == [300, 500]
    splits = make_splits(3, Rows(X, y, None), np.unique(y), None, 0)
    folds = FoldedRows(Rows(X, y, None), splits, np.unique(y), y == y.max())
    both = room.race(kernels, folds, SEARCH, lambda what: None, alone=False)
    assert list(both.finalists) == ["wide", "narrow"]


@pytest.mark.parametrize("maps", ["additive", ["standardized", "additive", "kernel 1"]])
def test_scores_of_held_out_rows_are_the_same_kept_and_computed_again(maps, monkeypatch):
    X, y = waves(300)
    kept = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y)
    monkeypatch.setattr("vrspam.model_selection.cross_validate.OF_ROWS_BYTES", 0)
    again = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y)
    assert np.ptp(again.out_of_fold_.scores) > 0.1
    np.testing.assert_allclose(kept.out_of_fold_.scores, again.out_of_fold_.scores, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("maps", ["additive", ["standardized", "additive", "kernel 1"]])
def test_scores_by_all_folds_are_the_same_from_features_at_hand_and_computed_again(maps, monkeypatch):
    """They say how stable the scores are, and so the width of the interval."""
    X, y = waves(300)
    scored, plain = [], choose_model.scores_of

    def tell(rows, *rest):
        scored.append(isinstance(rows, MappedArray))
        return plain(rows, *rest)

    for module in (maps_in_memory, choose_model):
        monkeypatch.setattr(module, "scores_of", tell)
    at_hand = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y)
    assert not any(scored)
    scored.clear()
    monkeypatch.setattr(maps_in_memory, "FEW_BYTES", 0)
    again = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y)
    assert scored == [True]  # at the end, by what was chosen
    assert at_hand.corrected_interval_ == pytest.approx(again.corrected_interval_, abs=1e-9)


def test_maps_of_few_rows_learn_at_the_same_time():
    """The first sees the columns; two of the others wait for each other."""
    meeting = threading.Barrier(2)

    class Waiting(LinearFeatures):
        def learn(self, X, sample_weight=None, shared=None):
            assert shared
            meeting.wait(timeout=30)
            super().learn(X, sample_weight, shared)

    X, y = waves(200)
    with threadpool_limits(2, user_api="blas"):
        learn_maps([LinearFeatures(), Waiting(), Waiting()], Rows(X, y, None), None, {})


def test_moments_of_all_rows_are_gathered_once_where_folds_leave_rows_out():
    X, y = waves(300)
    splits = make_splits(5, Rows(X, y, None), np.unique(y), None, 0)[:2]
    source = RowsInMemory(Rows(X, y, None), splits, np.unique(y))
    assert source.total == ClassMoments.from_data(X, y)
    for fold, (train, _) in enumerate(splits):
        assert source.training_moments(fold) == ClassMoments.from_data(X[train], y[train])


def test_progress_goes_to_the_standard_error_stream(capsys):
    X, y = waves(200)
    AUCClassifierCV(features=["standardized", "additive"], cv=2, random_state=0, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "comparing models" in shown.err
    assert "2 of 2: additive: AUC 0." in shown.err
    AUCClassifierCV(features=["standardized", "additive"], cv=2, random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""
    AUCClassifierCV(cv=3, n_jobs=1, random_state=0, verbose=1).fit(X, y)
    assert re.findall("choosing the penalty  (.*?)  ", capsys.readouterr().err) == [
        "1 of 3: fold 1", "2 of 3: fold 2", "3 of 3: fold 3",
    ]  # fmt: skip


def test_the_tool_names_models_in_plain_words(capsys):
    X, y = waves(200)
    search = AUCClassifierCV(features=["standardized", "additive"], cv=2, random_state=0, verbose=1)
    fit_read_columns(search, X, y, in_words=describe_step)
    shown = capsys.readouterr().err
    assert "1 of 2: straight lines: AUC 0." in shown
    assert "2 of 2: smooth curves: AUC 0." in shown
    assert "additive" not in shown


@pytest.mark.usefixtures("_small_race")
def test_a_part_too_small_for_the_measure_does_not_stop_the_fit():
    """1 % of the negatives of a fold: less than one in the part, more than one in all rows."""
    X, y = waves()
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures()}
    model = AUCClassifierCV([0.1], features=maps, max_fpr=0.01, cv=3, random_state=0).fit(X, y)
    assert model.selection_["rows"] == [900, 900]


@pytest.mark.usefixtures("_small_race")
def test_grouped_categories_are_said_once_and_landmarks_are_never_more(monkeypatch):
    pd = pytest.importorskip("pandas")
    X, y = waves()
    frame = pd.DataFrame({"x": X[:, 0], "town": [f"t{number}" for number in np.arange(900) % 45]})
    maps = {"lines": LinearFeatures(max_categories=9), "kernel": KernelFeatures(n_landmarks=7, max_categories=9)}
    seen = []
    plain = maps_in_memory.MapsInMemory.evaluate

    def listen(evaluator, name, features):
        seen.append(features.get_params().get("n_landmarks"))
        return plain(evaluator, name, features)

    monkeypatch.setattr(maps_in_memory.MapsInMemory, "evaluate", listen)
    with pytest.warns(CategoriesGrouped) as said:
        AUCClassifierCV([0.1], features=maps, cv=3, random_state=0).fit(frame, y)
    assert [str(one.message).split(":")[0] for one in said] == ["Column 'town' has 45 categories"]
    assert seen == [None, 7, 7]  # on the part, and the finalist on all rows


@pytest.mark.usefixtures("_small_race")
def test_maps_that_all_give_too_many_features_are_refused_in_the_same_words(monkeypatch):
    monkeypatch.setattr("vrspam.features.mapped.MAX_FEATURES", 2)
    X, y = waves()
    with pytest.raises(ValueError, match="at most 2 are possible"):
        AUCClassifierCV([0.1], features={"a": LinearFeatures(), "b": AdditiveFeatures()}, cv=3).fit(X, y)


def test_progress_on_a_terminal_without_rich_is_printed_line_by_line(capsys, monkeypatch):
    monkeypatch.setattr("vrspam._utils.progress._rich_line", lambda *_: None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with StepProgress("comparing models") as progress:
        progress.start(2)
        progress.tell("lines")
        progress.tell("curves")
    assert [line.split("  ")[1] for line in capsys.readouterr().err.splitlines()] == ["1 of 2: lines", "2 of 2: curves"]


@pytest.mark.usefixtures("_small_race")
@pytest.mark.parametrize("options", [{"selection": "one-standard-error"}, {"scoring": "average_precision"}])
def test_no_race_where_it_would_ask_another_question(options):
    """The simplest map is not among the best, and the part has another share of positives."""
    X, y = waves()
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures()}
    model = AUCClassifierCV(features=maps, cv=3, random_state=0, **options).fit(X, y)
    assert model.selection_["rows"] == [900, 900]


def test_the_moving_line_begins_with_the_time_left(monkeypatch):
    """A narrow terminal cuts off the end of the line."""
    shown: list[tuple[str, int, int | None]] = []
    monkeypatch.setattr(StepProgress, "show", lambda self, *line: shown.append(line))
    progress = StepProgress("comparing models", str.upper)
    progress.moves = True  # as on a terminal
    progress.start(2)
    progress.tell("lines")
    assert shown == [("0:00 left  1 of 2: LINES", 1, 2)]


@pytest.mark.usefixtures("_small_race")
def test_maps_side_by_side_change_no_result():
    X, y = waves()
    maps = {
        "lines": LinearFeatures(),
        "curves": AdditiveFeatures(),
        "kernel": KernelFeatures(n_landmarks=40, random_state=0),
        "trees": TreeFeatures(n_landmarks=40, n_trees=20, random_state=0),
    }
    models = []
    for threads, jobs in ((1, None), (3, None), (1, 3), (3, 1)):
        with threadpool_limits(threads, user_api="blas"):
            models.append(AUCClassifierCV(features=maps, cv=3, n_jobs=jobs, random_state=0).fit(X, y))
    for model in models[1:]:
        for column in ("features", "n_features", "auc", "standard_error", "weight", "rows"):
            assert model.selection_[column] == models[0].selection_[column]
        assert np.allclose(model.decision_function(X), models[0].decision_function(X), rtol=1e-9, atol=1e-12)
        assert model.corrected_score_ == models[0].corrected_score_


def test_maps_of_a_race_run_at_the_same_time(monkeypatch):
    """Two maps wait for each other; each is cross-validated by one thread."""
    meeting = threading.Barrier(2)
    jobs = []

    def meet(evaluator, name, features):
        jobs.append(evaluator.search.n_jobs)
        meeting.wait(timeout=30)
        raise TooManyFeatures("too many")

    monkeypatch.setattr(maps_in_memory.MapsInMemory, "evaluate", meet)
    X, y = waves()
    splits = [Split(*pair) for pair in StratifiedKFold(3).split(X, y)]
    heat = room.Heat(500, 10, 3)
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures()}
    with threadpool_limits(2, user_api="blas"):
        folds = FoldedRows(Rows(X, y, None), splits, np.unique(y), y == y.max())
        found = heat.run(maps, folds, SEARCH, np.random.default_rng(0), print)
    assert found == []
    assert jobs == [1, 1]


def test_boosted_trees_go_on_beside_the_best_of_the_others(monkeypatch):
    """A few rows say little of what more rows give them: they go on unless one of both is clearly ahead."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 4))
    y = X[:, 0] + np.abs(X[:, 1]) + rng.standard_normal(3_000) > 1.0
    few = room.RULES._replace(from_rows=2_000, heat=room.Heat(1_000, 100, 3))
    for ahead, behind, both in ((0.5, 0.5, True), (-1.0, 0.5, False)):
        monkeypatch.setattr(room, "RULES", few._replace(ahead=ahead, behind=behind))
        model = AUCClassifierCV(features=["standardized", "additive", "kernel", "boosted"], random_state=0).fit(X, y)
        rows = dict(zip(model.selection_["features"], model.selection_["rows"], strict=True))
        assert (rows["boosted"] == 3_000) == both
        assert max(rows["additive"], rows["kernel 3"], rows["kernel 1"], rows["kernel 0.3"]) == 3_000


def test_rows_of_a_part_keep_their_groups():
    X, y = waves()
    X[:, 0], names = np.arange(900), np.array([f"patient {number // 4}" for number in range(900)])
    splits = [Split(*split) for split in GroupKFold(3).split(X, y, names)]
    folds = FoldedRows(Rows(X, y, None), splits, np.unique(y), y == 1, names)
    part = room.Heat(300, 20, 3)._part(folds, np.random.default_rng(0))
    of_rows = names[part.rows.X[:, 0].astype(int)]
    assert len(set(zip(part.groups, of_rows, strict=True))) == np.unique(part.groups).size == np.unique(of_rows).size
    for train, validation in part.splits:
        assert not set(part.groups[train]) & set(part.groups[validation])
