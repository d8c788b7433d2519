"""One decision of what to draw: pages and matplotlib show the same ticks, values, scales and ranges."""

from __future__ import annotations

import html
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from vrspam._utils.texts import text_width
from vrspam.inspection import Axis, PairEffect, Shape
from vrspam.model.drawing import DECADES, Scale, common_range, plan_column
from vrspam.plotting import plot_interactions, plot_shapes
from vrspam.report.pictures import column_picture, heat_map

RNG = np.random.default_rng(0)
NORMAL = np.quantile(RNG.standard_normal(50_000), np.linspace(0.002, 0.998, 256))


def shape(name, grid, missing=None):
    grid = np.asarray(grid, dtype=object if isinstance(grid[0], str) else float)
    value = np.sin(np.linspace(-1.5, 1.5, grid.size))
    return Shape(name, grid, value, value - 0.1, value + 0.1, missing, 1.0, mean_score=0.9 * value)


SHAPES = {
    "numbers": shape("dose", np.linspace(-1.3, 11.8, 60)),
    "whole numbers": shape("age", np.arange(18.0, 95.0), missing=(0.3, 0.2, 0.4)),
    "large numbers": shape("price", np.linspace(0.0, 87_000.0, 60)),
    "years": shape("seen (year)", np.linspace(2018.2, 2023.4, 256)),
    "half a year": shape("seen (year)", np.linspace(2020.1, 2020.6, 80)),
    "days": shape("seen (year)", np.linspace(2021.2, 2021.23, 30)),
    "months": shape("seen (month)", np.arange(1.0, 13.0)),
    "weekdays": shape("seen (weekday)", np.arange(1.0, 8.0)),
    "hours": shape("seen (hour)", np.arange(0.0, 24.0)),
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
        Axis("seen (year)", ("a to b", "b to c"), np.array([2019.0, 2020.5, 2022.0])),
        Axis("seen (month)", ("1", "2", "12"), np.array([1.0, 1.0, 2.0, 12.0])),
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
