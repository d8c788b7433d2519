"""What a plan asks of a table."""

from __future__ import annotations

from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam._utils.roles import BESIDE, BY, GROUPS, ORDER, TIME, TIMES, WEIGHTS, WITHIN
from vrspam.data.request import TableRequest
from vrspam.tool.plan import ReportPlan, TrainPlan


def table_request(plan: TrainPlan) -> TableRequest:
    """The request of a plan. Scores of other models stand beside the features and are none of them."""
    raw = {BY: plan.by, BESIDE: plan.beside} if isinstance(plan, ReportPlan) else {}
    return TableRequest(
        target=plan.target,
        positive=plan.positive,
        event=None if plan.event == INDEPENDENT else plan.event,
        roles=columns_of_roles(plan),
        raw=raw,
        drop=(*plan.drop, *raw.get(BESIDE, ())),
        include=plan.include,
        categorical=plan.categorical,
        max_categories=plan.max_categories,
        dates=plan.dates,
        format=plan.format,
        delimiter=plan.delimiter,
        encoding=plan.encoding,
        zero_based=plan.zero_based,
        skip_errors=plan.skip_errors,
        progress=plan.progress,
    )


def columns_of_roles(plan: TrainPlan) -> dict[str, str]:
    """The columns beside the features that a plan names, by their roles."""
    is_order = plan.event == INDEPENDENT
    named = {
        WEIGHTS: plan.weights,
        GROUPS: None if plan.groups in (INDEPENDENT, COPIES) else plan.groups,
        TIME: plan.time,
        TIMES: None if plan.event is None or is_order else plan.target,
        ORDER: plan.target if is_order else None,
        WITHIN: plan.within,
    }
    return {role: str(name) for role, name in named.items() if name}
