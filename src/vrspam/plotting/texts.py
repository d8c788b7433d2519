"""Texts on axes: shortened so that different ones stay different, wrapped, and measured."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from textwrap import fill, wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path


def shortened(text: str, most: int = 10) -> str:
    """Return the text, cut to so many letters.

    >>> shortened("Klagenfurt am Wörthersee")
    'Klagenfur…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def shorten_distinct(texts: Sequence[str], most: int = 10) -> list[str]:
    """Cut texts to so many letters (at least 8) such that different texts stay different.

    The end is cut off where that is enough, else the middle, else all before the first letter that differs; where
    even that is not enough, a number is added.

    >>> shorten_distinct(["stomach ache", "lung disease I", "lung disease II"])
    ['stomach a…', 'lung…ase I', 'lung…se II']
    """
    texts = list(texts)
    found = {text: shortened(text, most) for text in texts}
    start = _first_difference(texts)
    cuts: list[Callable[[str], str]] = [
        lambda text: _without_middle(text, most),
        lambda text: "…" + shortened(text[max(start(text) - 1, 1) :], most - 1),
    ]
    for cut in cuts:
        counts = Counter(found.values())
        found = {text: cut(text) if counts[short] > 1 and len(text) > most else short for text, short in found.items()}
    taken: set[str] = set()
    for text, short in found.items():
        number = 2
        while found[text] in taken:
            found[text] = f"{short[: most - 2 - len(str(number))]}…{number}"
            number += 1
        taken.add(found[text])
    return [found[text] for text in texts]


def _without_middle(text: str, most: int) -> str:
    """Both ends of a text, cut between words where that costs few letters."""
    head, tail = text[: (most - 1) // 2], text[-(most - (most - 1) // 2 - 1) :]
    if 0 < (end := tail.find(" ")) <= len(tail) // 4:
        tail = tail[end:]
    return f"{head}…{tail}"


def _first_difference(texts: Sequence[str]) -> Callable[[str], int]:
    """A function that says where a text first differs from the one that agrees with it longest."""
    ordered = sorted(set(texts))

    def agreeing(one: str, two: str) -> int:
        return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))

    def start(text: str) -> int:
        place = ordered.index(text)
        near = [ordered[i] for i in (place - 1, place + 1) if 0 <= i < len(ordered)]
        return max((agreeing(text, other) for other in near), default=0)

    return start


def wrap_distinct(texts: Sequence[str], letters: int, lines: int = 2) -> list[str]:
    """Texts in at most so many lines of so many letters; those that need more are shortened and stay different."""
    short = shorten_distinct(texts, lines * letters)
    broken = [wrap(text, letters, break_on_hyphens=False) for text in short]
    if any(len(parts) > lines for parts in broken):  # long words leave lines half empty: break anywhere
        broken = [[text[i : i + letters] for i in range(0, len(text), letters)] for text in short]
    return ["\n".join(parts) for parts in broken]


def number_labels(values: np.ndarray, digits: int = 4) -> list[str]:
    """Numbers as short texts, with as many digits as it takes to tell them apart.

    >>> number_labels(np.array([1.0, 2.5])), number_labels(np.array([123456.0, 123457.0]))
    (['1', '2.5'], ['123456', '123457'])
    """
    labels = [f"{value:.{digits}g}" for value in values]
    if digits < 17 and len(set(labels)) < np.unique(values).size:
        return number_labels(values, digits + 1)
    return labels


def font_points(setting: str) -> float:
    """The size in points that a setting such as "xtick.labelsize" stands for."""
    settings: Any = mpl.rcParams
    return float(FontProperties(size=settings[setting]).get_size_in_points())


def axes_points(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points, before the layout is settled."""
    dpi = ax.figure.dpi
    return 72.0 * float(ax.bbox.width) / dpi, 72.0 * float(ax.bbox.height) / dpi


def fit_labels(ax: Axes, below: str, beside: str) -> None:
    """Name both axes, in two lines or more where the axes are shorter than the name."""
    wide, tall = axes_points(ax)
    ax.set_xlabel(_in_lines(below, wide))
    ax.set_ylabel(_in_lines(beside, tall))


def _in_lines(text: str, room: float) -> str:
    wide = text_width(text, font_points("axes.labelsize"))
    return text if wide <= 1.25 * room else fill(text, max(int(len(text) * 1.1 * room / wide), 12))


def text_width(text: str, points: float) -> float:
    """The width of a text in points (1/72 inch), the widest of its lines."""
    font = FontProperties(size=points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that the font does not have, which drawing warns of too
        return max(float(text_to_path.get_text_width_height_descent(line, font, False)[0]) for line in text.split("\n"))
