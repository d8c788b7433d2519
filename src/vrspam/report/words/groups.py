"""Levels of columns, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vrspam.measures.subgroups import Subgroup

UNLIKE = "differs from the other rows by more than chance"


def describe_unlike(groups: Sequence[Subgroup]) -> list[str]:
    """The levels that differ from the other rows by more than chance; or, in one line, that none does."""
    unlike = [group for group in groups if group.ranked_differently or group.predicted_wrongly]
    if unlike or not groups:
        return [f"{group.column} = {group.name} {UNLIKE}." for group in unlike]
    columns = ", ".join(dict.fromkeys(group.column for group in groups))
    return [f"No level of {columns} {UNLIKE}."]
