"""Directions of columns: what they may name, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from vrspam import AUCClassifierCV
from vrspam._utils.findings import Fix, Note, VrspamError
from vrspam._utils.texts import first_names, rounded
from vrspam.data.stream import Stream
from vrspam.data.table import Table
from vrspam.features.mapped import MAX_FEATURES
from vrspam.inspection import Shape
from vrspam.moments.class_moments import spread
from vrspam.tables.frames import columns_of, is_frame, levels
from vrspam.tool.plan import TrainPlan
from vrspam.tool.recipes import Fit


def with_orders(path: Any, plan: TrainPlan, table: Table | Stream, encoded: bool) -> TrainPlan:
    """Return the plan with the orders that a frame's types have, for columns with directions.

    Refuse directions and orders of columns that do not exist, or whose type cannot have them. `encoded` rows have
    straight lines for single categories, which have no direction.
    """
    plan = _with_orders_of_types(path, plan)
    for column in plan.monotone or ():
        _check_direction(column, plan, table, encoded)
    for column in plan.ordered or ():
        _check_order(column, plan, table, encoded)
    return plan


def _with_orders_of_types(path: Any, plan: TrainPlan) -> TrainPlan:
    """The plan with the orders of ordered categories of a frame; those that the user gave come first."""
    if not plan.monotone or not is_frame(path):
        return plan
    orders = {}
    for place, name in enumerate(columns_of(path).names):
        order = levels(path, place) if name in plan.monotone else None
        if order:
            orders[name] = order
    return replace(plan, ordered={**orders, **(plan.ordered or {})}) if orders else plan


def _check_direction(column: str, plan: TrainPlan, table: Table | Stream, encoded: bool) -> None:
    """Refuse a direction of a column that is not there, or of categories without an order."""
    option = Fix("monotone")
    _check_named(column, option, table)
    if not plan.monotone[column] or column not in table.schema.categorical:
        return
    if encoded:
        raise _too_wide_for_orders(column, option)
    if column not in (plan.ordered or ()):
        words = f" names {column!r}, whose categories have no order: give one with "
        raise VrspamError(option, words, Fix("ordered"))


def _check_order(column: str, plan: TrainPlan, table: Table | Stream, encoded: bool) -> None:
    """Refuse an order of a column that is not there, or that holds numbers."""
    option = Fix("ordered")
    _check_named(column, option, table)
    if column not in table.schema.categorical:
        words = f" is for categories, and {column!r} holds numbers, which have an order: leave it out"
        raise VrspamError(option, words)
    if encoded and plan.ordered[column]:
        raise _too_wide_for_orders(column, option)


def _check_named(column: str, option: Fix, table: Table | Stream) -> None:
    """Refuse a column that is not among the features."""
    known = table.schema.columns
    if column not in known:
        raise VrspamError(option, f" names {column!r}, which is not among the columns: {first_names(known)}")


def _too_wide_for_orders(column: str, option: Fix) -> VrspamError:
    """The error that categories can have no direction where rows are encoded."""
    return VrspamError(
        option,
        f" names {column!r}, which holds categories: in a stream, or beyond {MAX_FEATURES:,} columns, only columns of "
        "numbers can have directions. Leave it out",
    )


def notes_on_directions(plan: TrainPlan, table: Table, fit: Fit, free: AUCClassifierCV) -> list[Note]:
    """Notes on columns whose curve in the model without directions clearly goes against their direction somewhere."""
    shapes = _shapes_of_lines(table, fit, free)
    if shapes is None:
        shapes = getattr(free, "shape_functions_", {})
    notes = []
    for name, sign in plan.monotone.items():
        if not sign or name not in shapes:
            continue
        against = _turn_against(shapes[name], sign, (plan.ordered or {}).get(name, ()))
        if against is not None:
            notes.append(_note_on_direction(name, sign, against))
    return notes


def _shapes_of_lines(table: Table, fit: Fit, free: AUCClassifierCV) -> dict[str, Shape] | None:
    """Straight lines of encoded rows, a deviation around their means, with bands of the folds; None for maps."""
    coefs = getattr(free, "_fold_coefs", None)
    if coefs is None or fit.moments is None:
        return None
    freedom = len(coefs) - 1.0
    band = np.sqrt(freedom) * stdtrit(freedom, 0.975) * coefs.std(axis=0)
    mean, deviation = spread(fit.moments)
    sides = np.array([-1.0, 1.0])
    shapes = {}
    for j, name in enumerate(table.schema.feature_names):
        line = sides * free.coef_[0, j]
        at = mean[j] + sides * deviation[j]
        shapes[name] = Shape(name, at, line, line - band[j], line + band[j], None, line[1])
    return shapes


class Turn(NamedTuple):
    """Between which values of a column its curve goes against its direction, and by how much."""

    low: Any
    high: Any
    size: float


def _turn_against(shape: Shape, sign: int, order: tuple[str, ...]) -> Turn | None:
    """The largest turn against a direction, if it is more than the bands at both ends explain; else None."""
    places = list(range(shape.grid.size))
    if not shape.numeric:
        known = shape.grid.tolist()
        places = [known.index(level) for level in order if level in known]
    values = sign * shape.contribution[places]
    half_bands = (shape.high - shape.low)[places] / 2.0
    if values.size < 2 or not np.isfinite(half_bands).all():
        return None

    falls = np.maximum.accumulate(values) - values
    stop = int(falls.argmax())
    start = int(values[: stop + 1].argmax())
    if falls[stop] <= np.hypot(half_bands[start], half_bands[stop]):
        return None
    low, high = shape.grid[places[start]], shape.grid[places[stop]]
    if shape.numeric:
        low, high = rounded(low), rounded(high)
    return Turn(low, high, float(falls[stop]))


def _note_on_direction(name: str, sign: int, turn: Turn) -> Note:
    """A note that the rows speak against a direction."""
    direction, opposite = ("rise", "fall") if sign > 0 else ("fall", "rise")
    return Note(
        f"{name!r} must {direction}; without this direction the score would {opposite} by {turn.size:.2g} between "
        f"{turn.low} and {turn.high}, more than chance explains: check the direction, or leave it out of ",
        Fix("monotone"),
    )
