"""Warnings that point at the line of the user's that led to them."""

from __future__ import annotations

import sys
import warnings

PASSED_OVER = {"vrspam", "sklearn", "joblib"}


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this package and of those that call it on behalf of others."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
