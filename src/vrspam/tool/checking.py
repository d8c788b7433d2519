"""Look at a table for what fools people, before a number is shown."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from vrspam._utils.findings import Finding
from vrspam._utils.names import COPIES
from vrspam.checks.diagnose import Diagnosis, diagnose, merged
from vrspam.checks.not_checked import describe_sample
from vrspam.data import DataError
from vrspam.data.readers.problems import RowsUnlabelled
from vrspam.data.rows import RowSample
from vrspam.tool.folds import can_keep_together
from vrspam.tool.plan import CheckOptions, TrainPlan
from vrspam.tool.signatures import takes
from vrspam.tool.table import OpenedTable, open_labelled

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
    _, diagnosis = open_table(path, plan)
    return merged([*diagnosis.findings, *sampled], plan.ignore)


def _check_stream(path: Any, plan: TrainPlan) -> list[Finding]:
    """The findings in a random sample of the rows."""
    sample = RowSample(SAMPLED, plan.random_state)
    with warnings.catch_warnings(action="ignore", category=RowsUnlabelled):
        table = open_labelled(path, plan)
        for rows, labels, _ in table.blocks():
            sample.add(rows, labels)
    return merged(diagnose(table, plan, sample).findings, plan.ignore)


def open_table(path: Any, plan: TrainPlan, keep: Sequence[str] = ()) -> tuple[OpenedTable, Diagnosis]:
    """Open a table and look at it; the opened table has the groups of rows that folds must keep together.

    A stream is looked at when its blocks are read.
    """
    table = open_labelled(path, plan, keep)
    if plan.streaming and table.loaded is None:
        return table, Diagnosis([])

    def possible(groups: np.ndarray) -> bool:
        return can_keep_together(table, groups, getattr(plan, "holdout", None), plan.n_splits, plan.random_state)

    diagnosis = diagnose(table, plan, can_keep_together=possible)
    if diagnosis.groups is None or plan.streaming:
        return table, diagnosis
    grouped = keep_together(path, table, diagnosis, keep)
    new_notes = [note for note in grouped.notes if note not in diagnosis.findings]
    return grouped, diagnosis._replace(findings=[*diagnosis.findings, *new_notes])


def keep_together(path: Any, table: OpenedTable, diagnosis: Diagnosis, keep: Sequence[str]) -> OpenedTable:
    """The table with the groups that were found; a column that names them alone is no feature of it."""
    assert diagnosis.groups is not None
    groups = diagnosis.groups
    if groups.name == COPIES:
        return table.with_groups(groups.codes)
    named = replace(table.plan, groups=groups.name)
    if diagnosis.column_of_groups is not None:
        # the first reading has warned; nothing may be left to learn from
        with warnings.catch_warnings(action="ignore", category=UserWarning), suppress(DataError):
            return open_labelled(path, named, keep)
    return replace(table.with_groups(groups.codes), plan=named)
