"""What cannot go together: options of a plan that contradict each other, and columns with two roles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.names import INDEPENDENT, THRESHOLD_RULES, USUAL_PENALTY

if TYPE_CHECKING:
    from vrspam.tool.plan import ReportPlan, TrainPlan


def conflict(why: str, *options: Fix) -> VrspamError:
    """The error that options cannot be combined."""
    first, *others = options
    parts: list[str | Fix] = [first]
    for other in others:
        parts += [" and ", other]
    return VrspamError(*parts, f" cannot be combined: {why}")


def refuse_conflicts(plan: TrainPlan) -> None:
    """Refuse options that contradict each other."""
    _refuse_l1_of_zero(plan)
    _refuse_with_streaming(plan)
    _refuse_split_rows(plan)
    refuse_weighted_part(plan.max_fpr, plan.weights)
    _refuse_with_pairs(plan)
    _refuse_two_thresholds(plan)


def _refuse_l1_of_zero(plan: TrainPlan) -> None:
    """Refuse an l1 of 0 where l1 is the strength of the penalty."""
    if plan.penalty == USUAL_PENALTY or isinstance(plan.l1, str) or all(number > 0.0 for number in plan.l1):
        return
    from vrspam.penalties.family import PENALTIES  # NumPy is loaded only when it is needed

    if PENALTIES[plan.penalty].needs_l1:
        raise VrspamError(
            Fix("penalty", plan.penalty),
            " needs positive numbers for l1, its strength: give ",
            Fix("l1", "auto"),
            ", or numbers above 0",
        )


def _refuse_with_streaming(plan: TrainPlan) -> None:
    """Refuse what needs all rows in memory where they are read in blocks."""
    if not plan.streaming:
        return
    streaming = Fix("streaming", True)
    if plan.features not in (None, "linear"):
        raise VrspamError(streaming, " trains straight lines only: leave ", Fix("features"), " out")
    if plan.loss != "squared":
        raise conflict("this loss needs all rows in memory", streaming, Fix("loss", plan.loss))
    if _named_groups(plan):
        raise conflict("a stream draws its folds from the rows alone", streaming, Fix("groups"))
    if plan.time:
        raise conflict("a stream draws its folds from the rows alone", streaming, Fix("time"))
    if plan.ordered:
        raise conflict("an order of categories needs all rows in memory", streaming, Fix("ordered"))
    for name in ("event", "within"):
        if getattr(plan, name) is not None:
            raise conflict("pairs of rows need all rows in memory", streaming, Fix(name))


def _refuse_split_rows(plan: TrainPlan) -> None:
    """Refuse folds in time where rows must stay together."""
    if plan.time and _named_groups(plan):
        raise conflict("time-ordered folds would split groups", Fix("time"), Fix("groups"))
    if plan.time and plan.within:
        raise conflict("time-ordered folds would split what is compared", Fix("time"), Fix("within"))


def _named_groups(plan: TrainPlan) -> str | None:
    """What names the groups that folds keep together; None for independent rows."""
    return None if plan.groups == INDEPENDENT else plan.groups


def _refuse_with_pairs(plan: TrainPlan) -> None:
    """Refuse what a score that only ranks does not have, and an event without a time."""
    rules = [name for name in ("max_fpr", *THRESHOLD_RULES) if getattr(plan, name) is not None]
    for name in ("event", "within"):
        if getattr(plan, name) is not None and rules:
            raise conflict("a score that only ranks has no threshold or ROC curve", Fix(rules[0]), Fix(name))
    if plan.event == INDEPENDENT and plan.positive is not None:
        raise conflict("an order has no label to look for", Fix("event", INDEPENDENT), Fix("positive"))
    if plan.event is not None and plan.target is None:
        raise VrspamError(Fix("event"), " needs a column of times: name it with ", Fix("target"))


def _refuse_two_thresholds(plan: TrainPlan) -> None:
    """Refuse two rules for the one threshold that a model stores."""
    rules = [name for name in THRESHOLD_RULES if getattr(plan, name) is not None]
    if len(rules) > 1:
        raise conflict("a model stores one threshold", *map(Fix, rules))


def refuse_conflicts_of_page(plan: ReportPlan) -> None:
    """Refuse options of a page that contradict those of its model."""
    for name in ("holdout", "beside"):
        if plan.streaming and getattr(plan, name):
            raise conflict("a stream holds no rows in memory", Fix("streaming", True), Fix(name))
    for name in ("target", "event", "weights", "groups", "time", "within"):
        column = getattr(plan, name)
        if column in plan.beside:
            raise VrspamError(Fix("beside"), " and ", Fix(name, column), " name the same column: name it once")


def refuse_weighted_part(max_fpr: float | None, weights: Any) -> None:
    """Refuse a partial AUC of weighted rows, which has no interval."""
    if max_fpr is not None and weights is not None and str(weights) != INDEPENDENT:
        raise conflict("the interval of a partial AUC is for rows of equal weight", Fix("max_fpr"), Fix("weights"))
