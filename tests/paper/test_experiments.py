"""The experiments: plan, store, parallel runs and table, each compared with results worked out by hand."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from experiment_rows import SPLITS, about, fill, result
from matplotlib.layout_engine import ConstrainedLayoutEngine
from PIL import Image

from vrspam.paper import figures, publish
from vrspam.paper.protocol import (
    GRID,
    Protocol,
    Run,
    demo_protocol,
    make_plan,
    needs,
    paper_cells,
    paper_protocol,
)
from vrspam.paper.run import WORKER_DIED, Outcome, Store, read_all, run_all, start_early, workers

RUN = Run("german", "SOLAM", 3, 4)
PROTOCOL = paper_protocol()


def keep(store, run=RUN, rows=None, protocol=PROTOCOL):
    store.write(run, rows or [result(0.8, 0.81)], about(protocol, run))


def is_done(store, run=RUN, protocol=PROTOCOL):
    return store.done(run, protocol.run_digest(run.algorithm, run.task))


# -- protocol and plan --------------------------------------------------------------------------------------------


def test_protocol_is_the_papers():
    assert PROTOCOL.runs == 20
    assert PROTOCOL.test_share == 0.2
    assert PROTOCOL.folds == 5
    assert PROTOCOL.l2 == PROTOCOL.l1 == tuple(float(f"1e{k}") for k in range(-5, 6))
    assert {name for name, _ in paper_cells()} <= set(PROTOCOL.sets)
    assert {column for _, column in paper_cells()} == {a.name for a in PROTOCOL.algorithms if a.paper}
    assert len(paper_cells()) == 54
    assert all(0.7 < mean < 1 and 0 < std < 0.05 for mean, std in paper_cells().values())
    assert all(len(a.tune[1]) <= 5 for a in PROTOCOL.algorithms if a.tune)


def test_protocol_survives_json():
    assert Protocol.from_dict(PROTOCOL.as_dict()) == PROTOCOL


@pytest.mark.parametrize(
    "change", [{"scaling": "unit-rows"}, {"cv": "own"}, {"first_seed": 2}, {"folds": 4}, {"l2": (1.0,)}]
)
def test_digest_tells_protocols_apart(change):
    assert replace(PROTOCOL, **change).digest() != PROTOCOL.digest()


def test_more_sets_or_runs_leave_results_valid():
    other = replace(PROTOCOL, runs=3, sets=("german",))
    assert other.run_digest("SOLAM", "score") == PROTOCOL.run_digest("SOLAM", "score")


def test_changed_algorithm_invalidates_its_own_runs_only():
    changed = tuple(replace(a, tune=None) if a.name == "SOLAM" else a for a in PROTOCOL.algorithms)
    other = replace(PROTOCOL, algorithms=changed)
    assert other.run_digest("SOLAM", "score") != PROTOCOL.run_digest("SOLAM", "score")
    assert other.run_digest("OPAUC", "score") == PROTOCOL.run_digest("OPAUC", "score")


@pytest.mark.parametrize(
    ("change", "words"),
    [({"runs": 0}, "at least 1"), ({"scaling": "x"}, "scaling"), ({"cv": "x"}, "cv"), ({"sets": ("x",)}, "data set")],
)
def test_bad_protocol_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        paper_protocol(**change)


def test_plan_is_whole_and_in_order():
    protocol = demo_protocol()
    plan = make_plan(protocol)
    assert len(set(plan)) == len(plan)
    assert sum(run.task == "score" for run in plan) == 2 * 5 * 10
    assert sum(run.task == "choose" for run in plan) == 2 * 5
    seen: set[Run] = set()
    for run in plan:
        assert seen.issuperset(needs(run, protocol))
        seen.add(run)
    assert {run.split for run in plan if run.task == "tune"} == {0}
    assert all(run.seed == protocol.first_seed + run.split for run in plan)


# -- store --------------------------------------------------------------------------------------------------------


def test_rows_come_back_as_they_went(tmp_path):
    store = Store(tmp_path)
    assert not is_done(store)
    keep(store)
    rows = store.read(RUN)
    assert rows
    (row,) = rows
    assert {name: row[name] for name in result(0.8, 0.81)} == result(0.8, 0.81)
    assert (row["set"], row["algorithm"], row["split"], row["seed"]) == ("german", "SOLAM", 3, 4)
    assert is_done(store)
    assert not is_done(store, Run("german", "SOLAM", 3, 5))
    assert not is_done(Store(tmp_path, version="9.9"))
    assert [path.name for path in tmp_path.iterdir()] == [f"{RUN.key}.v{store.version}.parquet"]


def test_unknown_field_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(KeyError, match="colour"):
        keep(Store(tmp_path), rows=[{"colour": 1}])
    assert list(tmp_path.iterdir()) == []


def test_failed_run_is_on_record_and_not_done(tmp_path):
    store = Store(tmp_path)
    store.write_failure(RUN, "it broke", about(PROTOCOL, RUN))
    assert not is_done(store)
    assert [row["message"] for row in read_all(tmp_path)[0] if row["kind"] == "failed"] == ["it broke"]
    keep(store)
    assert is_done(store)
    assert [row for row in read_all(tmp_path)[0] if row["kind"] == "failed"] == []


def test_every_damage_is_noticed(tmp_path):
    store = Store(tmp_path)
    keep(store)
    path = store.path(RUN)
    sound = path.read_bytes()
    rng = np.random.default_rng(0)
    expected = store.read(RUN)
    path.write_bytes(sound[: len(sound) // 2])
    assert not is_done(store)
    path.write_bytes(b"")
    assert not is_done(store)
    for position in rng.choice(len(sound), 300, replace=False):
        path.write_bytes(sound[:position] + bytes([sound[position] ^ 0xFF]) + sound[position + 1 :])
        # a changed byte is either noticed or harmless (in the free text about the machine)
        assert not is_done(store) or store.read(RUN) == expected


def test_file_under_a_wrong_name_is_not_the_run(tmp_path):
    store = Store(tmp_path)
    keep(store)
    other = replace(RUN, split=4, seed=5)
    store.path(RUN).rename(store.path(other))
    assert not is_done(store, other)


def test_newest_version_counts(tmp_path):
    keep(Store(tmp_path, "0.9.0"), rows=[result(0.7, 0.7)])
    keep(Store(tmp_path, "0.10.0"), rows=[result(0.8, 0.8)])
    rows, _, unreadable = read_all(tmp_path)
    assert [row["auc"] for row in rows] == [0.8]
    assert unreadable == []


# -- parallel -----------------------------------------------------------------------------------------------------


def do_or_die(run, directory):
    """Work for the tests below: it writes the time of each run, and some splits fail."""
    if run.split == 7:
        os._exit(3)
    (directory / run.key).write_text(str(time.monotonic_ns()))
    return Outcome(run, "no luck" if run.split == 8 else "")


def test_runs_wait_for_what_they_need_and_outlive_a_dead_process(tmp_path):
    choose = [Run("german", GRID, split, split, "choose") for split in (0, 1, 7)]
    scores = [Run("german", "SOLAM", split, split) for split in (0, 1, 7, 8)]
    grid = {run.split: run for run in choose}
    done = {Run("german", "OPAUC", 0, 0)}
    outcomes = list(
        run_all(
            [*done, *scores, *choose],
            lambda run: [grid[run.split]] if run in scores and run.split in grid else [],
            partial(do_or_die, directory=tmp_path),
            done,
            n_jobs=2,
        )
    )
    assert sorted(o.run for o in outcomes) == sorted(choose + scores)
    messages = {o.run: o.message for o in outcomes}
    assert messages[choose[2]] == messages[scores[2]] == WORKER_DIED
    assert messages[scores[3]] in ("no luck", WORKER_DIED)
    for split in (0, 1):
        if not messages[scores[split]] and not messages[grid[split]]:
            assert int((tmp_path / scores[split].key).read_text()) > int((tmp_path / grid[split].key).read_text())


# -- table --------------------------------------------------------------------------------------------------------


def test_table_means_marks_and_reasons(tmp_path):
    fill(tmp_path)
    cells = {(c.set, c.algorithm): c for c in publish.summarise(read_all(tmp_path / "rows")[0])}
    german, splice = cells["german", "VRSPAM-L2"], cells["splice", "VRSPAM-L2"]
    assert german.ours
    assert german.ceiling
    assert german.paper
    assert german.ours.mean == pytest.approx(np.mean([0.79, 0.80, 0.81]))
    assert german.ours.std == pytest.approx(0.01)
    assert german.ours.runs == SPLITS
    assert german.ceiling.mean == pytest.approx(0.801)
    assert (german.mark, german.paper.mean) == ("", 0.7902)
    assert splice.mark == "above"  # .9640 against .931
    assert ".9310" in splice.reason
    assert cells["german", "SOLAM"].mark == "below"  # .7778 against .80, by 2·√(.0373²/20 + .01²/3) = .0202
    assert cells["german", "accelerated-L2"].paper is None
    assert str(german.ours) == ".8000 ± .0100"


def test_one_run_has_no_deviation_and_no_mark(tmp_path):
    fill(tmp_path)
    first = [row for row in read_all(tmp_path / "rows")[0] if row["split"] == 0]
    cells = publish.summarise(first)
    assert {cell.mark for cell in cells} == {""}
    assert {str(cell.ours) for cell in cells} == {".7900", ".9200"}


def test_disagreement_is_measured_run_by_run(tmp_path):
    fill(tmp_path, far=True)
    rows = read_all(tmp_path / "rows")[0]
    far = publish.disagreements(rows)
    assert [(row["set"], row["algorithm"], row["split"]) for row in far] == [
        ("german", "VRSPAM-NET", 1),
        ("splice", "VRSPAM-NET", 1),
    ]
    cells = {(c.set, c.algorithm): c for c in publish.summarise(rows)}
    assert cells["german", "VRSPAM-NET"].worst == pytest.approx(0.02)
    assert cells["german", "VRSPAM-L2"].worst == 0.0


def look_around(name):
    return os.environ.get(name), os.getcwd(), "vrspam.kernels" in sys.modules


def test_processes_see_the_environment_and_the_folder_of_now(tmp_path, monkeypatch):
    start_early()  # before the changes
    monkeypatch.setenv("VRSPAM_NOW", "yes")
    monkeypatch.chdir(tmp_path)
    with workers(1) as pool:
        value, folder, _ = pool.submit(look_around, "VRSPAM_NOW").result()
    assert (value, folder) == ("yes", str(tmp_path))
    monkeypatch.delenv("VRSPAM_NOW")
    with workers(1) as pool:
        value, _, imported = pool.submit(look_around, "VRSPAM_NOW").result()
    assert value is None
    assert imported or sys.platform != "linux"  # there, once for all processes


def test_figures_have_room_for_their_texts_in_both_files(tmp_path, monkeypatch):
    looked = []
    look = ConstrainedLayoutEngine.execute

    def execute(engine, figure):
        looked.append(figure)
        return look(engine, figure)

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", execute)
    rows = [{"passes": x, "auc": 0.9 + x / 1e3, "excess": 10.0**-x, "auc_exact": 0.95} for x in (1, 4, 15)]
    figure = figures.plot_panels({"breast-cancer": {"VRSPAM-L2": rows}, "digits": {"SOLAM": rows}}, "passes")
    figures.save(figure, tmp_path / "figure")
    assert len(looked) == 1
    width, height = Image.open(tmp_path / "figure.png").size
    assert (width, height) == tuple(np.round(200 * figure.get_size_inches()))
    for dpi in (72, 200):  # of SVG and of PNG
        figure.set_dpi(dpi)
        boxes: list[Any] = [panel.get_tightbbox() for panel in (*figure.axes, figure.legends[0])]
        for number, box in enumerate(boxes):
            assert box.x0 >= 0.0
            assert box.y0 >= 0.0
            assert box.x1 <= figure.bbox.width
            assert box.y1 <= figure.bbox.height
            assert not any(box.overlaps(other) for other in boxes[:number])
