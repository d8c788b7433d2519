"""What a column is for where it is no feature and no label: each role is declared here, once (`ROLES`).

How its values are read, which option names it, whether the column may be a feature too, and whether a model remembers
it, so that `evaluate` looks for it in new files: all of this follows from the role.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vrspam._utils.findings import Fix


@dataclass(frozen=True)
class Role:
    """What a column is for.

    Attributes
    ----------
    name : str
        Its key where values are kept by role.
    option : str
        The option that names the column.
    reads : {"numbers", "groups", "strata", "labels", "as it is"}
        What its values become: numbers; a number for each group, in which a missing value is a group of its own; a
        number for each stratum, which no row may lack.
    takes_dates : bool
        Whether dates are numbers too.
    may_be_missing : bool
        Whether a number may be missing.
    is_nonnegative, is_finite : bool
        What numbers must be.
    is_feature : bool
        Whether the column may be a feature too.
    is_remembered : bool
        Whether a model keeps the name of the column.
    """

    name: str
    option: str
    reads: Literal["numbers", "groups", "strata", "labels", "as it is"]
    takes_dates: bool = False
    may_be_missing: bool = False
    is_nonnegative: bool = False
    is_finite: bool = False
    is_feature: bool = False
    is_remembered: bool = False


WEIGHTS = "weights"
GROUPS = "groups"
GROUPS_TOO = "groups too"  # the second of two columns that name groups together
TIME = "time"  # by which folds are ordered
TIMES = "times"  # of events (positive rows) or of censoring; or an order, negated
ORDER = "order"
WITHIN = "within"
FOLDS = "folds"
SCORES = "scores"
BESIDE = "beside"
EVENT = "event"
BY = "by"

ROLES: dict[str, Role] = {
    role.name: role
    for role in (
        Role(GROUPS, "groups", "groups", is_remembered=True),
        Role(GROUPS_TOO, "groups", "groups", is_feature=True),
        Role(WEIGHTS, "weights", "numbers", is_nonnegative=True, is_finite=True, is_remembered=True),
        Role(TIME, "time", "numbers", takes_dates=True, is_finite=True),
        Role(EVENT, "event", "labels", is_remembered=True),
        Role(TIMES, "target", "numbers", is_nonnegative=True, is_finite=True, is_remembered=True),
        Role(ORDER, "target", "numbers", takes_dates=True, is_finite=True, is_remembered=True),
        Role(WITHIN, "within", "strata", is_remembered=True),
        Role(FOLDS, "folds", "strata"),
        Role(SCORES, "scores", "numbers", may_be_missing=True),
        Role(BESIDE, "beside", "numbers", may_be_missing=True, is_feature=True),
        Role(BY, "by", "as it is", is_feature=True),
    )
}

#: The roles whose columns a model remembers, in the order in which pages name them.
REMEMBERED = tuple(role.name for role in ROLES.values() if role.is_remembered)


def named_by(role: str) -> Fix:
    """The option that names the column of a role; `target` names times and orders."""
    return Fix(ROLES[role].option)
