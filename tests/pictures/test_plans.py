"""One decision of what to draw: pages and matplotlib show the same ticks, values, scales and ranges."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from vrspam import AUCClassifierCV
from vrspam._utils.texts import text_width
from vrspam.inspection import Axis, PairEffect, Shape, Shapes
from vrspam.pictures.columns import BAND, INTERVAL, OWN_PART, common_range, is_curve, plan_column, shown_columns
from vrspam.pictures.pairs import bin_ticks
from vrspam.pictures.scales import DECADES, Scale
from vrspam.plotting import plot_interactions, plot_shapes
from vrspam.report.pictures.columns import column_picture, key
from vrspam.report.pictures.heat_map import heat_map
from vrspam.tool import load_model, save_model, train

RNG = np.random.default_rng(0)
NORMAL = np.quantile(RNG.standard_normal(50_000), np.linspace(0.002, 0.998, 256))


def shape(name, grid, missing=None, part=""):
    grid = np.asarray(grid, dtype=object if isinstance(grid[0], str) else float)
    value = np.sin(np.linspace(-1.5, 1.5, grid.size))
    return Shape(name, grid, value, value - 0.1, value + 0.1, missing, 1.0, mean_score=0.9 * value, part=part)


SHAPES = {
    "numbers": shape("dose", np.linspace(-1.3, 11.8, 60)),
    "whole numbers": shape("age", np.arange(18.0, 95.0), missing=(0.3, 0.2, 0.4)),
    "large numbers": shape("price", np.linspace(0.0, 87_000.0, 60)),
    "years": shape("seen (year)", np.linspace(2018.2, 2023.4, 256), part="year"),
    "half a year": shape("seen (year)", np.linspace(2020.1, 2020.6, 80), part="year"),
    "days": shape("seen (year)", np.linspace(2021.2, 2021.23, 30), part="year"),
    "months": shape("seen (month)", np.arange(1.0, 13.0), part="month"),
    "weekdays": shape("seen (weekday)", np.arange(1.0, 8.0), part="weekday"),
    "hours": shape("seen (hour)", np.arange(0.0, 24.0), part="hour"),
    "ages": shape("age (year)", np.arange(18.0, 91.0)),  # not made from a date
    "waits": shape("wait (month)", np.arange(1.0, 13.0)),
    "heavy tail": shape("income", np.exp(9.0 + 2.0 * NORMAL)),
    "two heavy tails": shape("balance", np.sign(NORMAL) * np.expm1(4.0 * np.abs(NORMAL)), missing=(0.1, 0.0, 0.2)),
    "far off": shape("size", np.append(np.linspace(0.0, 100.0, 150), 900.0)),
    "few numbers": shape("rooms", [1.0, 2.0, 2.5]),
    "categories": shape("town", ["Graz", "Linz", "Wien"]),
    "many categories": shape("state", [f"s{k:02d}" for k in range(40)]),
}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def on_page(one):
    """What stands below the axis of the picture of a curve on a page, or beside its points; and where it stands."""
    svg = column_picture(one, common_range([one]))
    texts = re.findall(r'<text x="([-\d.]+)" y="([-\d.]+)" class="(\w+)">([^<]*)', svg)
    css = "middle" if plan_column(one, common_range([one])).curve else "end"
    found = [(float(x), html.unescape(text)) for x, y, kind, text in texts if kind == css and text != "missing"]
    return [text for _, text in found], [x for x, _ in found], svg


@pytest.mark.parametrize("name", SHAPES)
def test_pages_and_plots_have_the_same_ticks(name):
    one = SHAPES[name]
    (ax,) = plot_shapes({one.name: one}).axes
    below, places, svg = on_page(one)
    if not plan_column(one, common_range([one])).curve:
        assert below == [text.get_text() for text in ax.get_xticklabels()]
        return
    ours = [text for text in below if not text.startswith(one.name)]
    assert ours == [text.get_text() for text in ax.get_xticklabels()]
    assert len(ours) >= 2
    widths = np.array([text_width(text) for text in ours])
    assert (np.diff(places[: len(ours)]) > (widths[1:] + widths[:-1]) / 2).all()  # none touches the next
    kind = {"linear": "", "log": 'data-log="0"', "symlog": 'data-log="'}[ax.get_xscale()]
    assert (kind in svg) if kind else ("data-log" not in svg)


def test_dates_are_dates_on_the_page():
    texts = on_page(SHAPES["half a year"])[0]
    assert "2020-03" in texts
    assert not any(text.startswith("2020.") for text in texts)
    assert on_page(SHAPES["months"])[0][:2] == ["Jan", "Mar"]
    assert 'data-part="year"' in on_page(SHAPES["years"])[2]
    assert "from 2020-02-06 to 2020-08-07" in on_page(SHAPES["half a year"])[2]


def test_only_columns_that_are_read_from_dates_are_drawn_as_dates(tmp_path):
    """A column of ages may be called "age (year)", and one of waits "wait (month)": these are numbers."""
    rng = np.random.default_rng(0)
    age, wait = rng.integers(18, 91, 400).astype(float), rng.integers(1, 13, 400).astype(float)
    day = pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900, 400), unit="D")
    table = pd.DataFrame({"age (year)": age, "wait (month)": wait, "day": day})
    sick = age / 30.0 + wait / 5.0 + rng.standard_normal(400) + np.asarray(day.month) / 6.0 > 4.5
    fitted = AUCClassifierCV([1e-2], features="additive", cv=3).fit(table, sick)
    model = train(table.assign(sick=sick), "sick", features="additive", n_splits=3)
    save_model(model, tmp_path / "m.json")
    stored = json.loads((tmp_path / "m.json").read_text("utf-8"))
    parts_of_dates = {shape["name"]: shape["part"] for shape in stored["model"]["fields"]["shapes"]["columns"]}
    assert {name for name, part in parts_of_dates.items() if part} == {"day (year)", "day (month)", "day (weekday)"}
    several: list[Any] = [fitted, model, load_model(tmp_path / "m.json")]
    for made in several:
        shapes = made.shape_functions_ if made is fitted else {one.name: one for one in made.shapes.columns}
        axes = {ax.get_title(): [text.get_text() for text in ax.get_xticklabels()] for ax in plot_shapes(made).axes}
        for name, one in shapes.items():
            below = [text for text in on_page(one)[0] if not text.startswith(name)]
            assert below == axes[name]
            plain = not name.startswith("day")
            assert all(re.fullmatch(r"\d\d?", text) for text in below) == plain, below
            assert ("data-part" in on_page(one)[2]) == (not plain and is_curve(one))  # what the pointer tells
        assert axes["day (month)"][0] == "Jan"
        assert axes["day (year)"][0].startswith("2019")


def test_axes_of_pairs_know_which_columns_are_dates():
    month = Axis("day (month)", ("1", "12"), np.array([1.0, 1.0, 12.0]))
    wait = month._replace(name="wait (month)")
    when = Axis("day (year)", ("2020", "2020", "missing"), np.array([2020.1, 2020.1, 2020.6]))
    pairs = (PairEffect((month, wait), 0.1, np.ones((2, 2))), PairEffect((when, wait), 0.1, np.ones((3, 2))))
    plain = Shapes((), pairs=pairs)
    made = {"day (month)": ("day", "month"), "day (year)": ("day", "year"), "dose": ("dose", "")}
    (first, second), (third, fourth) = (pair.columns for pair in plain.dated(made).pairs)
    assert bin_ticks(first).labels == ["Jan", "Dec"]
    assert bin_ticks(second).labels == bin_ticks(fourth).labels == ["1", "12"]
    assert bin_ticks(third).labels == ["2020-02-06", "2020-08-07", "missing"]  # the values, not their labels
    assert plain.dated(made).to_dict() == plain.to_dict()


def test_the_value_beyond_the_picture_is_named():
    """-4 is the largest, but it is inside; 1.5 is not."""
    one = shape("dose", np.arange(20.0))._replace(contribution=np.linspace(-4.0, 1.5, 20))
    assert plan_column(one, (-5.0, 1.0)).remarks == ("goes on to 1.5, beyond the picture",)
    assert plan_column(one, (-3.0, 1.4)).remarks == ("goes on to -4, beyond the picture",)
    assert plan_column(one, (-5.0, 2.0)).remarks == ()


def test_pages_and_plots_draw_the_same_columns_and_explain_the_same_marks():
    flat, small = shape("flat", np.arange(20.0))._replace(importance=0.0), SHAPES["whole numbers"]
    small, large = small._replace(importance=0.1), SHAPES["numbers"]
    assert shown_columns([flat, small, large]) == [large, small]
    assert shown_columns([flat]) == [flat]
    figure = plot_shapes({one.name: one for one in (flat, small, large)})
    assert [ax.get_title() for ax in figure.axes] == [large.name, small.name]
    for shapes in ([large], [SHAPES["categories"]], [large, SHAPES["few numbers"]]):
        (legend,) = plot_shapes({one.name: one for one in shapes}).legends
        words = {text.get_text() for text in legend.get_texts()}
        kinds = {is_curve(one) for one in shapes}
        assert words >= {OWN_PART, *([BAND] if True in kinds else []), *([INTERVAL] if False in kinds else [])}
        assert set(re.findall(r"</svg>([^<]*)</span>", key(shapes))) == words


def test_both_draw_the_same_values_in_the_same_range():
    every = list(SHAPES.values())[:3]
    ends = common_range(every)
    for ax, one in zip(plot_shapes({s.name: s for s in every}).axes, every, strict=True):
        assert ax.get_ylim() == pytest.approx(ends)
        svg = column_picture(one, ends)
        heights = re.findall(r'<text x="[-\d.]+" y="[-\d.]+" class="end">([^<]*)', svg)
        np.testing.assert_allclose([float(text) for text in heights], ax.get_yticks())
    far = SHAPES["far off"]
    (ax,) = plot_shapes({far.name: far}).axes
    assert ax.get_xlabel() == "900: too far out to be drawn"
    assert f'<p class="remark">{ax.get_xlabel()}</p>' in column_picture(far, common_range([far]))
    many = SHAPES["many categories"]
    (ax,) = plot_shapes({many.name: many}).axes
    assert ax.get_xlabel() == "12 of 40 categories: the largest effects"
    assert f'<p class="remark">{ax.get_xlabel()}</p>' in column_picture(many, common_range([many]))


def test_a_scale_that_is_logarithmic_outside_is_that_of_matplotlib():
    ax = plt.figure().add_subplot()
    scale = Scale(-3e4, 2e5, "symlog", 70.0)
    ax.set_xscale("symlog", linthresh=scale.middle, linscale=DECADES)
    values = np.array([-3e4, -500.0, -70.0, -1.0, 0.0, 3.0, 70.0, 71.0, 2e5])
    bent = ax.xaxis.get_transform().transform(values)
    np.testing.assert_allclose(scale(values), (bent - bent[0]) / (bent[-1] - bent[0]), atol=1e-12)


@pytest.mark.parametrize(
    "axis",
    [
        Axis("income", ("1 to 2e4", "2e4 to 3e5", "3e5 to 4e7", "missing"), np.array([1.0, 2e4, 3e5, 4e7])),
        Axis("seen (year)", ("a to b", "b to c"), np.array([2019.0, 2020.5, 2022.0]), "year"),
        Axis("seen (month)", ("1", "2", "12"), np.array([1.0, 1.0, 2.0, 12.0]), "month"),
        Axis("town", ("Graz", "Linz", "Bad Ischl"), None),
    ],
    ids=lambda axis: axis.name,
)
def test_heat_maps_have_the_same_ticks(axis):
    other = Axis("sex", ("f", "m"), None)
    pair = PairEffect((axis, other), 0.1, np.ones((len(axis.labels), 2)))
    ax = plot_interactions([pair]).axes[0]
    svg = heat_map(pair, 1.0)
    shown = re.findall(r'rotate\(-50\)"><text [^>]*class="end">([^<]*)', svg)
    assert [html.unescape(text) for text in shown] == [text.get_text() for text in ax.get_xticklabels()]
    assert re.findall(r'<text x="[-\d.]+" y="[-\d.]+" class="end">([^<]*)', svg)[:2] == ["f", "m"]
