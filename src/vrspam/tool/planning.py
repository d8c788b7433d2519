"""How many more rows? The learning curve of a table, and the rows that an interval or a comparison takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vrspam._utils.messages import Parameter, WordedError
from vrspam.metrics import rows_for_difference, rows_for_width
from vrspam.model_selection.cross_validate import LearningCurve
from vrspam.tool.doctor import in_order, open_table
from vrspam.tool.plan import ROWS, TrainPlan, check_option, error_about, must, share, takes
from vrspam.tool.report import curve_of


@dataclass(frozen=True, eq=False)
class MoreRows:
    """What more rows of a table would bring.

    Attributes
    ----------
    curve : LearningCurve
        `rows` and `auc`; `at(rows)` and `gain(times)` extrapolate it, with a band.
    positives : int
        Of the rows of the table.
    lines : bool
        Whether it is the curve of straight lines, not of smooth curves.
    needed : dict of str to int
        Rows that it takes, by "width" and "difference", where they were asked for.
    notes : tuple of str
        What was noticed about the table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import rows
    >>> rows(load_breast_cancer(as_frame=True).frame, "target", features="linear").flat()["positives"]
    357
    """

    curve: LearningCurve
    positives: int
    lines: bool
    needed: dict[str, int]
    notes: tuple[str, ...] = ()

    def flat(self) -> dict[str, Any]:
        """All numbers under flat keys, for scripts."""
        values: dict[str, Any] = {"n": self.curve.total, "positives": self.positives}
        several = {"auc": self.curve.at(self.curve.total)}
        for k in (2, 4):
            several |= {f"auc_at_{k}x": self.curve.at(k * self.curve.total), f"gain_at_{k}x": self.curve.gain(k)}
        for name, (value, low, high) in several.items():
            values |= {name: value, f"{name}_low": low, f"{name}_high": high}
        values |= {"confidence": 0.9, "sizes": self.curve.rows.tolist(), "aucs": self.curve.auc.tolist()}
        return values | {f"rows_for_{name}": count for name, count in self.needed.items()}


@takes(TrainPlan, ROWS)
def rows(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    plan: TrainPlan | None = None,
    **options: Any,
) -> MoreRows:
    """Tell what more rows would bring: the AUC of parts of the table, extrapolated to four times its rows.

    The model is one of smooth curves, or of straight lines: models of parts of the rows follow from sums over them.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`.
    width : float in (0, 1), optional
        Tell also how many rows make a 95 % interval of the AUC so narrow.
    difference : float in (0, 1), optional
        Tell also how many rows show a model as better whose AUC is larger by this.
    power : float in (0, 1), default=0.8
        How probable it is that they show it, if the AUCs of both models have a correlation of 0.5.
    plan : TrainPlan, optional
        Options in one object; those that are given by name take the place of its own.
    {options}

    Returns
    -------
    MoreRows

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import rows
    >>> found = rows(load_breast_cancer(as_frame=True).frame, "target")
    >>> found.curve.total, found.curve.at(4 * 569).value > found.curve.at(569).value
    (569, True)
    """
    asked = (TrainPlan if plan is None else type(plan)).of(target, positive, plan, options)
    check_wishes(asked, width=width, difference=difference, power=power)
    asked.say("reading")
    opened, found = open_table(path, asked)
    asked.say("fitting models of parts of the rows")
    lines, (_, y) = asked.features == "linear", opened.load_rows()
    curve = curve_of(opened, lines, asked.random_state)
    now, needed, known = curve.at(curve.total).value, {}, (curve.total, curve.error)
    if width is not None:
        needed["width"] = rows_for_width(now, width, known=known)
    if difference is not None:
        check_option("difference", difference, must(lambda more: now + more < 1.0, "is more than the AUC can rise"))
        needed["difference"] = rows_for_difference(now, difference, power=power, known=known)
    notes = tuple(in_order([*found.findings, *opened.notes], asked.ignore))
    return MoreRows(curve, int(y.sum()), lines, needed, notes)


def check_wishes(plan: TrainPlan, **given: float | None) -> None:
    """Refuse what has no answer, before a table is read."""
    for name, value in given.items():
        check_option(name, value, share)
    if plan.features not in (None, "linear", "additive"):
        raise error_about("{features} does not add up over rows: give additive or linear", features=plan.features)
    if other := next((name for name in ("event", "within", "time") if getattr(plan, name) is not None), None):
        words = "a learning curve is one of two classes without an order: leave {option} out"
        raise WordedError(words, option=Parameter(other))
