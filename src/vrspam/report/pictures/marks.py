"""Lines, points, boxes and texts, at places in units of the picture."""

from __future__ import annotations

from html import escape

import numpy as np


def dot(x: float, y: float, css: str = "dot", title: str = "", radius: float = 4.0, more: str = "") -> str:
    """A point; the pointer shows its title."""
    return f'<circle class="{css}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}"{more}>{_title(title)}</circle>'


def segment(x1: float, y1: float, x2: float, y2: float, css: str = "whisker", more: str = "") -> str:
    """A straight line between two places."""
    return f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{more}/>'


def box(x: float, y: float, width: float, height: float, css: str, title: str = "", more: str = "") -> str:
    """A rectangle; the pointer shows its title."""
    sizes = f'x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.0):.1f}" height="{max(height, 0.0):.1f}"'
    return f'<rect class="{css}" {sizes}{more}>{_title(title)}</rect>'


def words(x: float, y: float, text: str, css: str = "", full: str = "") -> str:
    """A text; if it was cut, the pointer shows its `full` form."""
    title = full if full != text else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{css}">{escape(text)}{_title(title)}</text>'


def whisker(at: float, part: np.ndarray, css: str, title: str, *, across: bool = False, radius: float = 4.0) -> str:
    """A point with its interval if both ends are known, upright or `across`; `part` has the places of all three."""
    value, low, high = map(float, part)
    interval = ""
    if np.isfinite(low) and np.isfinite(high):
        interval = segment(low, at, high, at) if across else segment(at, low, at, high)
    if across:
        return interval + dot(value, at, css, title, radius)
    return interval + dot(at, value, css, title, radius)


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
