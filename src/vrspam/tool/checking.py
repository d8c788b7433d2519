"""Look at a table for what fools people, before a number is shown."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Unpack

from vrspam._utils.findings import Finding
from vrspam.checks.diagnose import Diagnosis, diagnose, merged
from vrspam.checks.judged_groups import JudgedGroups
from vrspam.checks.not_checked import describe_sample
from vrspam.data.beside import column_series, numbered_groups, without_value
from vrspam.data.open import open_stream, open_table, rows_without_group
from vrspam.data.readers.problems import RowsUnlabelled
from vrspam.data.rows import RowSample, as_in_file
from vrspam.data.table import Table
from vrspam.tool.folds import can_keep_together
from vrspam.tool.plan import CheckOptions, TrainPlan
from vrspam.tool.request import table_request
from vrspam.tool.signatures import takes

SAMPLED = 20_000  # rows of a stream or a cluster that are looked at


@takes(CheckOptions)
def check(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    plan: TrainPlan | None = None,
    **options: Unpack[CheckOptions],
) -> list[Finding]:
    """Look at a table for what fools people: repeated rows, leaks, missing labels, codes, drift.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`; for a Spark frame, only a sample of its rows is looked at.
    plan : TrainPlan, optional
        Options in one object; options that are given by keyword replace those of the plan.
    {options}

    Returns
    -------
    list of Finding
        Texts, the gravest first, with `code`, `severity` ("severe", "warning" or "note") and `fix`, the parameter to
        give; docs/doctor.md explains the codes.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from vrspam.tool import check
    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(300) < 0.3
    >>> patients = pd.DataFrame({"age": rng.integers(20, 80, 300), "cure": sick + 0.01 * rng.random(300), "sick": sick})
    >>> [(found.severity, found.code, found.fix.value) for found in check(patients, "sick")]
    [('severe', 'leak', ['cure'])]
    """
    plan = (TrainPlan if plan is None else type(plan)).of(target, positive, plan, options)
    if plan.streaming:
        return _check_stream(path, plan)
    sampled = []
    if hasattr(path, "sparkSession"):
        rows = path.count()
        path = path.sample(fraction=min(1.0, SAMPLED / max(rows, 1)), seed=plan.random_state).toPandas()
        if len(path) < rows:
            sampled.append(describe_sample(len(path), rows))
    _, diagnosis = open_checked(path, plan)
    return merged([*diagnosis.findings, *sampled], plan.ignore)


def _check_stream(path: Any, plan: TrainPlan) -> list[Finding]:
    """The findings in a random sample of the rows."""
    sample = RowSample(SAMPLED, plan.random_state)
    with warnings.catch_warnings(action="ignore", category=RowsUnlabelled):
        stream = open_stream(path, table_request(plan))
        for block in stream.blocks():
            sample.add(block.rows, block.positive)
    return merged(diagnose(stream.sampled(sample), plan).findings, plan.ignore)


def open_checked(path: Any, plan: TrainPlan) -> tuple[Table, Diagnosis]:
    """Open a table and look at it; the opened table has the groups of rows that folds must keep together."""
    table = open_table(path, table_request(plan))
    diagnosis = diagnose(table, plan, can_keep_together=lambda groups: can_keep_together(table, plan, groups))
    if diagnosis.groups is None:
        return table, diagnosis
    grouped = keep_together(table, diagnosis.groups, diagnosis.column_of_groups)
    new_findings = [finding for finding in grouped.findings if finding not in diagnosis.findings]
    return grouped, diagnosis._replace(findings=[*diagnosis.findings, *new_findings])


def keep_together(table: Table, groups: JudgedGroups, column: str | None) -> Table:
    """The table with the groups that were found; the column that names them alone is no feature of it.

    Groups of a column are numbered by its texts, as if the user had named it.
    """
    if column is None:
        return table.with_groups(groups.codes, groups.name)
    made = [name for name, (source, _) in table.schema.made().items() if source == column]
    values = column_series({column: as_in_file([table.column(made[0] if made else column)])}, column)
    missing = without_value(values)
    of_others = [finding for finding in table.findings if finding.columns != (column,)]
    grouped = table.with_groups(numbered_groups(values, missing), column)
    if grouped.schema.without(column).columns:  # else nothing would be left to learn from
        grouped = grouped.without_feature(column)
    return replace(grouped, findings=(*of_others, *rows_without_group(column, missing)))
