"""Plans drawn at random: options of `vrspam train` that fit a drawn table, as they are typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from drawn_tables import NUMBERS, PLAIN_NAMES, SIZES, Table, tables
from hypothesis import strategies as st

FEATURES = (None, "linear", "additive", "kernel", "trees", "forest", "boosted", "auto", "standardized")
RULES = ("--recall", "--precision", "--alerts", "--cost-ratio", "--threshold")
VALUES = {"--recall": "0.8", "--precision": "0.5", "--alerts": "0.2", "--cost-ratio": "5", "--threshold": "0.25"}


@dataclass(frozen=True)
class Plan:
    """Options as they are typed: about the data, which `check` takes as well, about the model, and about a report."""

    data: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    page: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[str, ...]:
        return *self.data, *self.model

    @property
    def streams(self) -> bool:
        return "--streaming" in self.model

    def columns_of(self, option: str) -> dict[str, str]:
        """What an option of the model says of columns, such as 1 or -1 of those with a direction."""
        values = [value for flag, value in zip(self.model, self.model[1:], strict=False) if flag == option]
        return dict(value.split("=", 1) for value in values)


@dataclass(frozen=True)
class Journey:
    """A table and a plan for it."""

    table: Table
    plan: Plan


def roles(table: Table, draw: Any) -> list[str]:
    """Options that name columns with a role; those that exclude each other are not drawn together."""
    if not table.named:
        return ["--target", str(len(table.features))] if table.format == "npy" else []
    options = ["--target", table.target]
    if table.survival:
        options += ["--event", "died"]
    if table.weights is not None:
        options += ["--weights", "weight"]
    folds = [flag for flag, column in (("--groups", table.groups), ("--time", table.time)) if column]
    if table.within:
        options += ["--within", "site"]
        folds = [flag for flag in folds if flag != "--time"]
    if len(folds) > 0 and draw(st.booleans()):
        flag = draw(st.sampled_from(folds))
        options += [flag, {"--groups": "patient", "--time": "day"}[flag]]
    return options


def choices(table: Table, draw: Any) -> list[str]:
    """Options of the model: its features, penalty, loss, directions, folds and threshold."""
    features = draw(st.sampled_from(FEATURES))
    options = [] if features is None else ["--features", features]
    ranks = table.survival or table.within > 0
    if draw(st.sampled_from([False, False, False, True])):
        options += ["--loss", "squared_hinge"]
    if features in ("linear", "additive", "standardized") and draw(st.booleans()):
        options += ["--l1", draw(st.sampled_from(["auto", "0.01,0.1"]))]
        options += ["--penalty", draw(st.sampled_from(["elasticnet", "mcp", "scad"]))]
    if table.named:
        options += directions(table, draw)
    if draw(st.sampled_from([False, False, True])):
        options += ["--folds", str(draw(st.integers(2, 4)))]
    if draw(st.sampled_from([False, False, True])):
        options += ["--selection", draw(st.sampled_from(["best", "one-standard-error", "blend"]))]
    if draw(st.sampled_from([False, False, False, True])):
        options.append("--private")
    if ranks:
        return options
    options += ["--calibration", draw(st.sampled_from(["sigmoid", "isotonic", "none"]))]
    if draw(st.booleans()):
        rule = draw(st.sampled_from(RULES))
        options += [rule, VALUES[rule]]
    elif table.weights is None and draw(st.sampled_from([False, False, True])):
        options += ["--max-fpr", "0.3"]
    return options


def directions(table: Table, draw: Any) -> list[str]:
    """Directions of a column of numbers, and of categories in an order, which may lack one of them."""
    plain = [column for column in table.columns if column.name in PLAIN_NAMES]
    numbers = [column.name for column in plain if column.kind in NUMBERS]
    sizes = [column.name for column in plain if column.kind == "ordered"]
    options = []
    if numbers and draw(st.sampled_from([False, False, False, True])):
        options += ["--monotone", f"{numbers[0]}={draw(st.sampled_from([1, -1]))}"]
    if sizes and draw(st.booleans()):
        order = draw(st.sampled_from([SIZES, SIZES, SIZES[::-1], SIZES[:2]]))
        options += ["--ordered", f"{sizes[0]}={','.join(order)}"]
        options += ["--monotone", f"{sizes[0]}={draw(st.sampled_from([1, -1]))}"]
    return options


def page_options(table: Table, draw: Any) -> list[str]:
    """Options of `report`: columns whose levels are looked at, other scores, rows, and rows that are kept apart."""
    if not table.named or draw(st.sampled_from([False, False, True])):
        return []
    plain = [column.name for column in table.columns if column.name in PLAIN_NAMES]
    options = []
    if plain:
        options += ["--by", ",".join(plain[: draw(st.integers(1, 3))])]
    if table.other_scores:
        options += ["--beside", "other scores"]
    if draw(st.sampled_from([False, False, True])):
        options += ["--holdout", "0.3"]
    return [*options, "--rows", draw(st.sampled_from(["0", "3"]))] if options else []


@st.composite
def plans(draw: st.DrawFn, table: Table) -> Plan:
    """A plan for a table; a stream has few choices."""
    data = roles(table, draw)
    flags = {"--event", "--within", "--groups", "--time"}
    if flags.isdisjoint(data) and draw(st.sampled_from([False] * 7 + [True])):
        return Plan(tuple(data), ("--features", "linear", "--streaming"))
    return Plan(tuple(data), tuple(choices(table, draw)), tuple(page_options(table, draw)))


@st.composite
def journeys(draw: st.DrawFn, **kinds: object) -> Journey:
    table = draw(tables(**kinds))  # type: ignore[arg-type]
    return Journey(table, draw(plans(table)))
