"""`vrspam.selection.select`, an alias of `vrspam.model_selection.selection.select`."""

from vrspam.model_selection.selection import Choice, select

__all__ = ["Choice", "select"]
