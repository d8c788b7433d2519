"""Blocks and pages as HTML: templates, in which all texts are escaped.

jinja2 is imported only here, and only where a page is written.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from vrspam._utils.extras import require

#: The attribute of elements whose numbers the page writes as the reader's browser does (0,83 in German). Such an
#: element must hold no names from a file.
NUMBERS = " data-numbers"

_KEPT = re.compile(
    r"(?P<option>--[a-z][a-z-]*)"
    r"|(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])"
    r"|(?<![\w.,-])(?:\w+ [=<] )?[-+]?\d[\d.,]*(?:e[-+]?\d+)?(?: %| to [-+]?\d[\d.,]*| ± \d[\d.,]*)+(?: interval\b)?"
    r"|(?<![\w.,-])\w+ [=<] [-+]?\d[\d.,]*(?:e[-+]?\d+)?"
)


class Html(str):
    """A text in which names and values are escaped: templates take it as it is."""

    def __html__(self) -> str:
        return self


def spelled(text: str) -> Html:
    """Return a text as HTML that keeps each option, date and interval, and each number with its unit, on one line.

    >>> spelled("use --rows 0: 95 % interval 0.47 to 0.64")
    'use <code>--rows</code> 0: <span class="n">95 % interval</span> <span class="n">0.47 to 0.64</span>'
    """
    parts, end = [], 0
    for found in _KEPT.finditer(text):
        parts.append(escape(text[end : found.start()]))
        kept = escape(found[0])
        parts.append(f"<code>{kept}</code>" if found["option"] else f'<span class="n">{kept}</span>')
        end = found.end()
    return Html("".join([*parts, escape(text[end:])]))


def fragment(macro: str, /, **values: Any) -> Html:
    """A picture or a slider, by a macro of blocks.html.j2."""
    return Html(getattr(_macros(), macro)(**values))


def as_html(block: Any) -> Html:
    """A block of blocks.py, by the macro that has the name of its class; what is HTML stays as it is."""
    if isinstance(block, Html):
        return block
    return Html(getattr(_macros(), type(block).__name__.lower())(block))


def whole_page(page: Any, data: Html) -> str:
    """A page of page.html.j2 with its style and its script."""
    return str(_templates().get_template("page.html.j2").render(page=page, data=data, **_style_and_script()))


def embedded(path: Path) -> str:
    """The address of a figure (an SVG or PNG file) that is inside the page."""
    kind = {".svg": "image/svg+xml", ".png": "image/png"}[path.suffix]
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


@cache
def _macros() -> Any:
    return _templates().get_template("blocks.html.j2").module


@cache
def _style_and_script() -> dict[str, Html]:
    folder = files("vrspam.report").joinpath("templates")
    return {
        "style": Html(folder.joinpath("page.css").read_text("utf-8")),
        "script": Html(folder.joinpath("page.js").read_text("utf-8")),
    }


def _hashed(text: str) -> str:
    """The hash by which the content security policy of a page allows a style or a script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _templates() -> Any:
    require("report", "jinja2")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("vrspam.report"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(spelled=spelled, hashed=_hashed, as_html=as_html, embedded=embedded)
    return environment
