"""Numbers and names as text, for pages, plots and the terminal."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from math import floor, inf
from os.path import commonprefix
from textwrap import wrap

import numpy as np

from vrspam._utils.plain import readable


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent, without a line break before the sign."""
    if 0.0 < share < 0.5 * 10.0 ** -(digits + 2):
        return f"less than {10.0**-digits:.{digits}f}\N{NO-BREAK SPACE}%"
    if 1.0 - 0.5 * 10.0 ** -(digits + 2) < share < 1.0:
        return f"more than {100.0 - 10.0**-digits:.{digits}f}\N{NO-BREAK SPACE}%"
    return f"{100.0 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def auc_text(auc: float, digits: int = 3) -> str:
    """Return an AUC, or a share, as text; only exact values of 0 and 1 are written as such.

    >>> auc_text(0.8345), auc_text(0.9997), auc_text(1.0), auc_text(0.9962, 2)
    ('0.835', 'above 0.999', '1.000', '0.996')
    """
    short = f"{auc:.{digits}f}"
    if float(short) not in (0.0, 1.0) or auc in (0.0, 1.0):
        return short
    if digits < 3:
        return auc_text(auc, 3)
    step = 10.0**-digits
    return f"above {1.0 - step:.{digits}f}" if auc > 0.5 else f"below {step:.{digits}f}"


def share_text(share: float) -> str:
    """Return a share in percent for the terminal, never rounded to 0 or 100 %.

    >>> share_text(0.8), share_text(0.99999), share_text(1.0)
    ('80.00%', 'above 99.99%', '100.00%')
    """
    text = f"{share:.2%}"
    if share in (0.0, 1.0):
        return text
    return {"100.00%": "above 99.99%", "0.00%": "below 0.01%"}.get(text, text)


def interval_text(low: float, high: float, digits: int = 3) -> str:
    """Return an interval of an AUC as text; NaN is "not known", and ends next to 1 (or 0) become one bound.

    >>> interval_text(0.81, 0.8752), interval_text(0.99961, 0.99998), interval_text(float("nan"), float("nan"))
    ('0.810 to 0.875', 'above 0.999', 'not known')
    """
    if low != low:
        return "not known"
    low_text = auc_text(low, digits)
    high_text = auc_text(high, digits)
    if low_text == high_text and low_text.startswith(("above", "below")):
        return low_text
    return f"{low_text} to {high_text}"


def rounded(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits; only very small and very large ones have an exponent."""
    size = abs(value)
    if size == 0.0 or not np.isfinite(value):
        return f"{value:g}"
    if size >= 1e9 or size < 1e-4:
        return f"{value:.{digits}g}"
    places = max(0, digits - 1 - int(np.floor(np.log10(size))))
    text = f"{value:,.{places}f}" if size >= 1e4 else f"{value:.{places}f}"  # 2024 may be a year
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float, largest: float = 1.0, sign: bool = True) -> str:
    """Return a number with its sign; a number that is rounded to 0 has none.

    It has as many decimals as numbers up to `largest` need to differ: two if `largest` is about 1.
    """
    power = 0
    if 0.0 < largest < np.inf:
        power = int(np.floor(np.log10(largest)))
    digits = max(0, 2 - power) if power >= 0 else 1 - power
    if float(f"{value:.{digits}f}") == 0.0:
        return f"{0.0:.{digits}f}"
    return f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"


def number_labels(values: np.ndarray, digits: int = 4) -> list[str]:
    """Numbers as short texts, with as many digits as it takes to tell them apart."""
    labels = [f"{value:.{digits}g}" for value in values]
    if digits < 17 and len(set(labels)) < np.unique(values).size:
        return number_labels(values, digits + 1)
    return labels


def power_text(value: float, form: str = ".4g") -> str:
    """Return a number with few digits; an exponent is written as a power of ten, such as 2×10⁻⁵, in plain text."""
    text = f"{value:{form}}"
    found = re.fullmatch(r"(-?)([\d.]+)e([+-]\d+)", text)
    if found is None:
        return text
    sign, factor, exponent = found.groups()
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    if factor == "1":
        return f"{sign}10{power}"
    return f"{sign}{factor}×10{power}"


def short_between(low: float, high: float) -> float:
    """The number with the fewest decimals that is above `low` and at most `high`."""
    if not low < high < np.inf:
        return high
    for digits in range(-6, 17):
        step = 10.0**-digits
        number = round(floor(high / step) * step, max(digits, 0))
        if low < number <= high:
            return float(number)
    return high


def shorten(text: str, most: int) -> str:
    """Return a text of at most `most` letters; a longer one loses its middle, so that its end is still shown."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def first_names(names: Sequence[object], most: int = 20) -> str:
    """Return the first of several names as an enumeration, with dots for the others.

    >>> first_names(["age", "bmi", 3], most=2)
    'age, bmi, ...'
    """
    shown = [str(name) for name in names[:most]]
    if len(names) > most:
        shown.append("...")
    return ", ".join(shown)


def show_texts(texts: Sequence[str], most: int = 3) -> str:
    """Some texts as examples, long ones without their middle: "'n/a', '?', '-', ..."."""
    examples = [text if len(text) <= 60 else shorten(text, 60) for text in texts]
    return first_names([repr(example) for example in examples], most)


def shorten_distinct(texts: Sequence[str], most: int = 10, room: float = inf) -> list[str]:
    """Cut texts to `most` letters (at least 8) such that different texts stay different.

    The end is cut off if that is enough, else the middle, else all before the first letter that differs; if even that
    is not enough, a number is added. Texts that are wider than `room` (`text_width`) are cut to fewer letters. Control
    characters, which pictures cannot hold, are written out.
    """
    written = _written_out(texts)
    texts = [written[text] for text in texts]
    while True:
        short = _cut_distinct(texts, most)
        fits = room == inf or all(text_width(text) <= room for text in short.values())
        if fits or most <= 8:
            return [short[text] for text in texts]
        most -= 1


def _written_out(texts: Sequence[str]) -> dict[str, str]:
    """Texts without control characters, by the texts as they are; one that then reads like another gets a number."""
    written = {text: text for text in texts if readable(text) == text}
    taken = set(written)
    for text in texts:
        if text in written:
            continue
        name = readable(text)
        number = 2
        while name in taken:
            name = f"{readable(text)} ({number})"
            number += 1
        written[text] = name
        taken.add(name)
    return written


def _cut_distinct(texts: Sequence[str], most: int) -> dict[str, str]:
    """Texts of at most `most` letters, all different, by the texts that they stand for."""
    in_order = sorted(set(texts))
    short = {text: _without_end(text, most) for text in texts}
    short = _cut_equal_ones(short, most, lambda text: _without_middle(text, most))
    short = _cut_equal_ones(short, most, lambda text: _without_start(text, most, in_order))
    return _numbered(short, most)


def _cut_equal_ones(short: dict[str, str], most: int, cut: Callable[[str], str]) -> dict[str, str]:
    """The short texts, with those that were cut to the same cut in another way."""
    counts = Counter(short.values())
    again = {}
    for text, cut_text in short.items():
        is_ambiguous = counts[cut_text] > 1 and len(text) > most
        again[text] = cut(text) if is_ambiguous else cut_text
    return again


def _without_end(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip("…") + "…"


def _without_middle(text: str, most: int) -> str:
    half = (most - 1) // 2
    tail = text[-(most - half - 1) :]
    blank = tail.find(" ")
    if 0 < blank <= len(tail) // 4:  # between words where that costs few letters
        tail = tail[blank:]
    return f"{text[:half]}…{tail}"


def _without_start(text: str, most: int, in_order: list[str]) -> str:
    """The text from the first letter that differs from its neighbours in the order, which share the longest starts."""
    place = in_order.index(text)
    neighbours = [*in_order[max(place - 1, 0) : place], *in_order[place + 1 : place + 2]]
    start = max((len(commonprefix([text, other])) for other in neighbours), default=0)  # noqa: RUF071
    end = text[max(start - 1, 1) :]
    if len(end) >= most:
        end = end[: most - 2].rstrip("…") + "…"
    return f"…{end}"


def _numbered(short: dict[str, str], most: int) -> dict[str, str]:
    """The short texts, with a number at the end of those that are still like another one."""
    numbered = {}
    taken: set[str] = set()
    for text, cut_text in short.items():
        name = cut_text
        number = 2
        while name in taken:
            name = f"{cut_text[: most - 2 - len(str(number))]}…{number}"
            number += 1
        numbered[text] = name
        taken.add(name)
    return numbered


def wrap_distinct(texts: Sequence[str], letters: int, lines: int = 2) -> list[str]:
    """Return texts in at most `lines` lines of `letters` letters; longer texts are shortened and stay different."""
    short = shorten_distinct(texts, lines * letters)
    broken = [wrap(text, letters, break_on_hyphens=False) for text in short]
    if any(len(parts) > lines for parts in broken):  # long words leave lines half empty: break anywhere
        broken = [[text[i : i + letters] for i in range(0, len(text), letters)] for text in short]
    return ["\n".join(parts) for parts in broken]


# letters that are narrower or wider than most, and how wide they are in DejaVu Sans, one of the widest fonts of pages
_WIDTHS = dict.fromkeys("fijlrtI.,:;|!()[]'\" ", 4.8) | dict.fromkeys("w=+<>#", 9.7) | dict.fromkeys("mMW@%—…", 11.5)


def text_width(text: str) -> float:
    """Return an estimate, rather too large than too small, of a text's width in a picture, in its units."""
    width = 0.0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            width += 12.5
        else:
            width += _WIDTHS.get(letter, 8.4 if letter.isupper() else 7.3)
    return width


def isolated(text: str) -> str:
    """Return a text; one that is written from right to left is isolated, so that the text around it is not turned."""
    turns = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
    return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}" if turns else text
