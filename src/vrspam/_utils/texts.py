"""Numbers and names as text, for pages, plots and the terminal."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from textwrap import wrap

import numpy as np


def percent(share: float, digits: int = 1) -> str:
    """A share in percent; no line breaks before the sign.

    >>> percent(0.1362), percent(0.5, 0), percent(0.00002), percent(0.9999)
    ('13.6\\xa0%', '50\\xa0%', 'less than 0.1\\xa0%', 'more than 99.9\\xa0%')
    """
    if 0.0 < share < 0.5 * 10.0 ** -(digits + 2):
        return f"less than {10.0**-digits:.{digits}f}\N{NO-BREAK SPACE}%"
    if 1.0 - 0.5 * 10.0 ** -(digits + 2) < share < 1.0:
        return f"more than {100.0 - 10.0**-digits:.{digits}f}\N{NO-BREAK SPACE}%"
    return f"{100.0 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent where that can be read.

    >>> rounded(12345.6), rounded(0.01234), rounded(1.5e-7), rounded(0.0), rounded(2024.0)
    ('12,346', '0.0123', '1.5e-07', '0', '2024')
    """
    size = abs(value)
    if size == 0.0 or not np.isfinite(value):
        return f"{value:g}"
    if size >= 1e9 or size < 1e-4:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - int(np.floor(np.log10(size))))
    text = f"{value:,.{places}f}" if size >= 1e4 else f"{value:.{places}f}"  # 2024 may be a year
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimals(largest: float) -> int:
    """Decimals by which numbers up to `largest` can be told apart; two where that is about 1.

    >>> [decimals(value) for value in (0.051, 0.9, 1.1, 12.0, 400.0)]
    [3, 2, 2, 1, 0]
    """
    if not 0.0 < largest < np.inf:
        return 2
    power = int(np.floor(np.log10(largest)))
    return max(0, 2 - power) if power >= 0 else 1 - power


def signed(value: float, digits: int, sign: bool = True) -> str:
    """A number with its sign; one that is rounded to 0 has none.

    >>> signed(0.5, 1), signed(-0.04, 1), signed(-0.5, 1, sign=False)
    ('+0.5', '0.0', '-0.5')
    """
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text if float(text) else f"{0.0:.{digits}f}"


def number_labels(values: np.ndarray, digits: int = 4) -> list[str]:
    """Numbers as short texts, with as many digits as it takes to tell them apart.

    >>> number_labels(np.array([1.0, 2.5])), number_labels(np.array([123456.0, 123457.0]))
    (['1', '2.5'], ['123456', '123457'])
    """
    labels = [f"{value:.{digits}g}" for value in values]
    if digits < 17 and len(set(labels)) < np.unique(values).size:
        return number_labels(values, digits + 1)
    return labels


def power_text(value: float, digits: int = 4) -> str:
    """A number of few digits; one that would have an exponent is a factor times a power of ten.

    >>> power_text(2.5), power_text(30000.0), power_text(1e6), power_text(-2e-7)
    ('2.5', '3×10⁴', '10⁶', '-2×10⁻⁷')
    """
    text = f"{value:.{digits}g}"
    found = re.fullmatch(r"(-?)([\d.]+)e([+-]\d+)", text)
    if found is None:
        return text
    sign, factor, exponent = found.groups()
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{sign}{'' if factor == '1' else f'{factor}×'}10{power}"


def tick_texts(ticks: Sequence[float], shares: bool = False) -> list[str]:
    """Ticks as text, with as many decimals as tell them apart.

    >>> tick_texts([2024.0, 2024.25, 2024.5]), tick_texts([0.0, 20000.0]), tick_texts([0.0, 0.5], shares=True)
    (['2024.00', '2024.25', '2024.50'], ['0', '20,000'], ['0 %', '50 %'])
    """
    if shares:
        return [f"{100 * tick:g} %" for tick in ticks]
    steps = np.diff(ticks)
    if steps.size == 0 or np.ptp(steps) > 1e-6 * steps.max() or not 1e-6 < steps[0] < 1e9:  # a logarithmic scale, say
        return [rounded(tick) for tick in ticks]
    digits = len(f"{steps[0]:.9f}".rstrip("0").partition(".")[2])
    return [f"{tick:,.{digits}f}" if abs(tick) >= 1e4 else f"{tick:.{digits}f}" for tick in ticks]


def short_between(low: float, high: float) -> float:
    """The number with the fewest decimals that is above `low` and at most `high`.

    >>> short_between(0.123456, 0.123987), short_between(-1.0, 1.0), short_between(2.0, 2.0000001)
    (0.1239, 0.0, 2.0000001)
    """
    if not low < high:
        return high
    for digits in range(-6, 17):
        step = 10.0**-digits
        found = round(np.floor(high / step) * step, max(digits, 0))
        if low < found <= high:
            return float(found)
    return high


def shorten(text: str, most: int) -> str:
    """A text of at most so many letters; the middle of a longer one is left out, so that its end can be told.

    >>> shorten("cholesterol in mg/dl", 11)
    'chole…mg/dl'
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def shorten_distinct(texts: Sequence[str], most: int = 10) -> list[str]:
    """Cut texts to so many letters (at least 8) such that different texts stay different.

    The end is cut off where that is enough, else the middle, else all before the first letter that differs; where
    even that is not enough, a number is added.

    >>> shorten_distinct(["stomach ache", "lung disease I", "lung disease II"])
    ['stomach a…', 'lung…ase I', 'lung…se II']
    """
    texts = list(texts)
    found = {text: _without_end(text, most) for text in texts}
    start = _first_difference(texts)
    cuts: list[Callable[[str], str]] = [
        lambda text: _without_middle(text, most),
        lambda text: "…" + _without_end(text[max(start(text) - 1, 1) :], most - 1),
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


def _without_end(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


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


#: Letters that are narrower or wider than most, and how wide they are in DejaVu Sans, one of the widest fonts of pages.
WIDTHS = dict.fromkeys("fijlrtI.,:;|!()[]'\" ", 4.8) | dict.fromkeys("w=+<>#", 9.7) | dict.fromkeys("mMW@%—…", 11.5)


def text_width(text: str) -> float:
    """About how wide a text of a picture is, in units of the picture; rather too wide than too narrow.

    >>> text_width("ill") < text_width("age") < text_width("mom") < text_width("心拍数")
    True
    """
    width = 0.0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            width += 12.5
        else:
            width += WIDTHS.get(letter, 8.4 if letter.isupper() else 7.3)
    return width


def shorten_to_fit(texts: Sequence[str], most: int, room: float) -> list[str]:
    """`shorten_distinct` to at most so many letters, and to fewer (at least 8) where they do not fit into the room.

    >>> shorten_to_fit(["mmmmmmmmmmmmmmmmmmmm", "age"], 20, 120.0)
    ['mmmmmmmmm…', 'age']
    """
    short = shorten_distinct(texts, most)
    while most > 8 and max(map(text_width, short), default=0.0) > room:
        most -= 1
        short = shorten_distinct(texts, most)
    return short


def isolated(text: str) -> str:
    """A text that may be written from right to left, so that it does not turn what stands around it.

    >>> isolated("age"), isolated("\u05d2\u05d9\u05dc") == "\u2068\u05d2\u05d9\u05dc\u2069"
    ('age', True)
    """
    turns = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}" if turns else text
