"""Numbers and names as text."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

#: The attribute of elements whose numbers the page writes as the reader's browser does (0,83 in German). Such an
#: element must hold no names from a file.
NUMBERS = " data-numbers"
SPACE = "\N{NO-BREAK SPACE}"
LEAST_LETTERS = 6  # of a name that is shortened to fit


def percent(share: float, digits: int = 1) -> str:
    """A share in percent; no line breaks before the sign.

    >>> percent(0.1362), percent(0.5, 0), percent(0.00002), percent(0.9999)
    ('13.6\\xa0%', '50\\xa0%', 'less than 0.1\\xa0%', 'more than 99.9\\xa0%')
    """
    if 0.0 < share < 0.5 * 10.0 ** -(digits + 2):
        return f"less than {10.0**-digits:.{digits}f}{SPACE}%"
    if 1.0 - 0.5 * 10.0 ** -(digits + 2) < share < 1.0:
        return f"more than {100.0 - 10.0**-digits:.{digits}f}{SPACE}%"
    return f"{100.0 * share:.{digits}f}{SPACE}%"


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


def shorten_all(texts: Sequence[str], most: int) -> list[str]:
    """The same for several texts; those that would read the same are numbered.

    >>> shorten_all(["first long name", "first ... name", "age"], 9)
    ['firs…name 1', 'firs…name 2', 'age']
    """
    short = [shorten(text, most) for text in texts]
    seen: dict[str, int] = {}
    found = []
    for name in short:
        seen[name] = seen.get(name, 0) + 1
        found.append(f"{name} {seen[name]}" if short.count(name) > 1 else name)
    return found


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
    """`shorten_all` to at most so many letters, and to fewer where wide ones would not fit into the room.

    >>> shorten_to_fit(["mmmmmmmmmmmmmmmmmmmm", "age"], 20, 120.0)
    ['mmmmm…mmmm', 'age']
    """
    short = shorten_all(texts, most)
    while most > LEAST_LETTERS and max(map(text_width, short), default=0.0) > room:
        most -= 1
        short = shorten_all(texts, most)
    return short


FIRST_STRONG, END = "\N{FIRST STRONG ISOLATE}", "\N{POP DIRECTIONAL ISOLATE}"


def isolated(text: str) -> str:
    """A text that may be written from right to left, so that it does not turn what stands around it.

    >>> isolated("age"), isolated("\u05d2\u05d9\u05dc") == "\u2068\u05d2\u05d9\u05dc\u2069"
    ('age', True)
    """
    turns = any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text)
    return f"{FIRST_STRONG}{text}{END}" if turns else text


def signed(value: float, digits: int, sign: bool = True) -> str:
    """A number with its sign; one that is rounded to 0 has none.

    >>> signed(0.5, 1), signed(-0.04, 1), signed(-0.5, 1, sign=False)
    ('+0.5', '0.0', '-0.5')
    """
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text if float(text) else f"{0.0:.{digits}f}"


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
