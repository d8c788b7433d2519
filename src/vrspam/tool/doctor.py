"""Find what fools people in a table, before a number is shown: each `Finding` has a code, a severity and a fix.

`check` looks at a table alone; `train` and `make_report` call `examine` for the table that they have opened. Sentences
about columns come from `vrspam.tables`; this module joins those of one code. docs/doctor.md has a section on each code.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.findings import CODES, OPTION, SEVERITIES, Finding, Fix, Severity
from vrspam._utils.texts import auc_text
from vrspam._utils.warnings import SHOWN, in_short
from vrspam.data import DataError
from vrspam.data.readers.problems import RowsUnlabelled
from vrspam.measures.rows import two_sides
from vrspam.metrics import roc_auc_ci
from vrspam.model_selection.folds import forward_folds
from vrspam.moments import ClassMoments
from vrspam.tables.decisions import SEVERAL
from vrspam.tables.frames import numbers, rows_of
from vrspam.tool.folds import can_keep_together, with_both_classes
from vrspam.tool.leaks import SUSPECT, TOO_GOOD, alone, is_made_of, look_at_company
from vrspam.tool.plan import CHECKED, COPIES, INDEPENDENT, TrainPlan, takes
from vrspam.tool.repeats import (
    QUICK_COLUMNS,
    QUICK_ROWS,
    NamedGroups,
    QuickTable,
    Repeats,
    find_copies,
    judge_groups,
    name_crossed_groups,
    name_groups,
    order_by_values,
    owners_of_copies,
    quick_scores,
)
from vrspam.tool.table import OpenedTable, RowSample, open_labelled

SAMPLED = 20_000  # rows of a stream or a cluster that are looked at
MOST_COLUMNS = 1000  # columns that are looked at one by one


class Diagnosis(NamedTuple):
    """Findings that `OpenedTable.notes` does not have, the groups that folds must keep together, constant columns.

    `aucs` are those of single columns.
    """

    findings: list[Finding]
    repeats: Repeats | None = None
    constant: Sequence[str] = ()
    aucs: Mapping[str, float] = {}

    @property
    def leaking(self) -> list[str]:
        """The columns that are said to give the answer away."""
        return leaking_columns(self.findings)


@dataclass(frozen=True)
class Examined:
    """The columns of a table as the doctor sees them.

    `codes` has the place of each row's value among the distinct values of a column, which are sorted if they are
    numbers; -1 is a missing value. Of a date only the first part is there. `names` are codes of columns that
    only name rows, `dates` are names of date columns.
    """

    X: Any
    positive: np.ndarray
    codes: Mapping[str, np.ndarray]
    numeric: frozenset[str]
    texts: Mapping[str, Sequence[str]]
    names: Mapping[str, np.ndarray]
    dates: Sequence[str]
    unordered: frozenset[str] = frozenset()

    @classmethod
    def of(cls, X: Any, positive: np.ndarray, schema: Any, kept: Mapping[str, Any]) -> Examined:
        """Look at typed rows, and at columns that were kept as they are in the file."""
        parts = {new: (str(name), kind.words) for name, kind in schema.readings.items() for new in kind.made(name)}
        few = len(schema.columns) <= MOST_COLUMNS
        codes, texts, dates = dict[str, np.ndarray](), dict[str, Sequence[str]](), list[str]()
        for name in schema.columns if few else _most_distant(X, positive, schema, MOST_COLUMNS):
            source, words = parts.get(name, (name, ""))
            if source not in dates:
                named = hasattr(X, "column")
                codes[source], found = codes_of(X.column(name) if named else numbers(X, schema.columns.index(name)))
                texts |= {} if found is None else {name: found}
                dates += [source] if words == "dates" else []
        others, unordered = dict[str, np.ndarray](), set(texts)
        for name, column in kept.items():
            if name in schema.identifiers:
                with suppress(ValueError):  # whole numbers that were kept as text have an order
                    column = column.cast("float64")
                others[name], found = codes_of(column)
                unordered |= {name} if found is not None else set()
        numeric = frozenset(codes) - set(texts)
        return cls(X, positive, codes, numeric, texts, others, dates, frozenset(unordered))

    def sorted(self) -> tuple[np.ndarray, Examined]:
        """An order of the rows that their values give, and the rows in it: what is drawn of them depends on no file."""
        codes = {name: _by_text(codes, self.texts.get(name)) for name, codes in self.codes.items()}
        order = order_by_values(codes, self.positive)
        codes = {name: one[order] for name, one in codes.items()}
        names = {name: one[order] for name, one in self.names.items()}
        return order, replace(self, codes=codes, names=names, positive=self.positive[order])


def _by_text(codes: np.ndarray, texts: Sequence[str] | None) -> np.ndarray:
    """Codes of texts as places in their alphabetical order; codes of numbers as they are."""
    if texts is None:
        return codes
    place = np.empty(len(texts) + 1, dtype=np.intp)
    place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    place[-1] = -1
    return place[codes]


def codes_of(column: Any) -> tuple[np.ndarray, list[str] | None]:
    """Return the place of each value among the distinct values, -1 for a missing one, and the distinct texts or None.

    >>> codes_of(np.array([3.0, np.nan, 2.0, 3.0]))[0].tolist()
    [1, -1, 0, 1]
    """
    if hasattr(column, "dictionary_encode"):
        import pyarrow.types as t

        whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
        if t.is_string(whole.type) or t.is_large_string(whole.type):
            coded = whole.dictionary_encode()
            codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
            return codes, coded.dictionary.to_pylist()
        column = whole.to_numpy(zero_copy_only=False)
    values = np.asarray(column, dtype=np.float64)
    codes = np.unique(values, return_inverse=True)[1]
    return np.where(np.isnan(values), -1, codes), None


@takes(TrainPlan, CHECKED)
def check(
    path: Any, target: str | None = None, positive: str | None = None, *, plan: TrainPlan | None = None, **options: Any
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
    asked = (TrainPlan if plan is None else type(plan)).of(target, positive, plan, options)
    more = []
    if hasattr(path, "sparkSession"):
        rows = path.count()
        path = path.sample(fraction=min(1.0, SAMPLED / max(rows, 1)), seed=asked.random_state).toPandas()
        more = [_sampled(len(path), rows)] if len(path) < rows else []
    if not asked.streaming:
        opened, found = open_table(path, asked)
        return in_order([*found.findings, *opened.notes, *more], asked.ignore)
    sample = RowSample(SAMPLED, asked.random_state)
    with warnings.catch_warnings(action="ignore", category=RowsUnlabelled):
        opened = open_labelled(path, asked)
        for rows, labels, _ in opened.blocks():
            sample.add(rows, labels)
    return in_order([*examine(opened, asked, sample).findings, *opened.notes], asked.ignore)


def open_table(path: Any, plan: TrainPlan, keep: Sequence[str] = ()) -> tuple[OpenedTable, Diagnosis]:
    """Open a table and examine it; the opened table has the groups of rows that folds must keep together."""
    opened = open_labelled(path, plan, keep)
    found = examine(opened, plan)
    if found.repeats is None or plan.streaming:
        return opened, found
    if found.repeats.name == COPIES:
        return replace(opened, groups=found.repeats.codes), found
    return keep_together(path, opened, found.repeats, keep), found


def keep_together(path: Any, opened: OpenedTable, repeats: Repeats, keep: Sequence[str]) -> OpenedTable:
    """The table with groups that a column names; the column is no feature then, unless the user made it one."""
    plan = opened.plan
    named = replace(plan, groups=repeats.name)
    features = {*plan.include, *plan.categorical, *(plan.monotone or ()), *(plan.ordered or ())}
    one_column = repeats.name in (*opened.schema.inputs(), *opened.schema.identifiers)
    if one_column and repeats.name not in features:
        # the first reading has warned; nothing may be left to learn from
        with warnings.catch_warnings(action="ignore", category=UserWarning), suppress(DataError):
            return open_labelled(path, named, keep)
    return replace(opened, groups=repeats.codes, plan=named)


def examine(opened: OpenedTable, plan: TrainPlan, sample: RowSample | None = None) -> Diagnosis:
    """Look at a table in memory, or at a sample of a stream."""
    if sample is None and opened.loaded is None and plan.streaming:
        return Diagnosis([])  # it is looked at when its blocks are read
    X, positive = opened.load_rows() if sample is None else (sample.X, sample.y)
    all_events, positive = bool(positive.all()), two_sides(positive, opened.times)
    seen = Examined.of(X, positive, opened.schema, opened.kept)
    whole = sample is None and len(seen.codes) == len(opened.schema.columns)
    constant = [name for name, codes in seen.codes.items() if (codes == codes[0]).all()] if sample is None else []
    found = list(look_at_labels(opened, positive, all_events))
    if constant:
        found.append(constant_columns(constant))

    aucs = aucs_alone(seen, plan.random_state)
    of_columns = guarded("columns one by one", lambda: look_at_columns(seen, aucs, plan.random_state))
    leaks = leaking_columns(of_columns)

    groups, wanted = Groups(), False
    if sample is not None:
        found.append(_sampled(positive.size, sample.seen))
    elif not opened.chunks.source.reader.tabular or len(opened.schema.columns) > 5 * QUICK_COLUMNS:
        found.append(not_checked("repeated rows and drift, which need a table of at most 1,000 named columns"))
    elif plan.groups == COPIES or (plan.groups is None and plan.time is None):
        wanted, groups = True, look_at_repeats(opened, seen, plan, leaks)

    in_company = look_at_all_columns(opened, seen, aucs, leaks, groups, plan.random_state)
    if wanted and in_company and not groups.acted:  # leaks hide what else rows of a group share
        again = look_at_repeats(opened, seen, plan, [*leaks, *leaking_columns(in_company)])
        groups = again if again.acted and again.name != COPIES else groups
    if groups.acted and groups.name in leaks:  # it names rows, and is no feature
        left = {name: codes for name, codes in seen.codes.items() if name != groups.name}
        features = replace(seen, codes=left)
        aucs = {name: auc for name, auc in aucs.items() if name != groups.name}
        of_columns = guarded("columns one by one", lambda: look_at_columns(features, aucs, plan.random_state))

    found += [*groups.findings, *of_columns, *in_company]
    if wanted and (groups.repeats is None or not groups.repeats.matters):
        found += guarded("drift", lambda: look_at_drift(_quick_columns(X, seen, opened), seen, plan.random_state))
    if all_events:  # the classes are halves of an order: a column that separates them is no leak
        found = [one for one in found if one.code != "leak"]
    return Diagnosis(found, groups.repeats if groups.acted else None, constant if whole else (), aucs)


class Groups(NamedTuple):
    """Groups of rows that were found, the findings on them, and whether folds keep them together."""

    repeats: Repeats | None = None
    findings: Sequence[Finding] = ()
    acted: bool = False

    @property
    def name(self) -> str:
        """The column that names the groups; nothing without any."""
        return "" if self.repeats is None else self.repeats.name


def look_at_all_columns(
    opened: OpenedTable,
    seen: Examined,
    aucs: Mapping[str, float],
    leaks: Sequence[str],
    groups: Groups,
    seed: int,
) -> list[Finding]:
    """The finding on columns that tell the label together, if one of them is suspect alone."""
    left = {name: auc for name, auc in aucs.items() if name != groups.name or not groups.acted}
    if not hasattr(seen.X, "column_names") or max(left.values(), default=0.0) < SUSPECT:
        return []
    X = _quick_columns(seen.X, seen, opened)
    codes = groups.repeats.codes if groups.acted and groups.repeats is not None else None
    if codes is not None:
        X = X.select([name for name in X.column_names if name in left or name not in aucs])
    return guarded("leaks", lambda: company(X, seen.positive, left, leaks, codes, seed))


def company(*asked: Any) -> list[Finding]:
    """The finding on columns that tell the label together, if there is one."""
    found = look_at_company(*asked)
    return [] if found is None else [found]


def leaking_columns(findings: Iterable[Finding]) -> list[str]:
    """The columns that findings say give the answer away, which they advise to leave out."""
    told = (one.fix for one in findings if one.code in ("leak", "missingness"))
    return [name for fix in told if fix is not None and fix.option == "drop" for name in fix.value]


def look_after(opened: OpenedTable, found: Diagnosis, promised: float, seed: int) -> list[Finding]:
    """The finding that the AUC which a model promises is too good to be true, unless leaks were found before."""
    if round(promised, 3) < TOO_GOOD or found.leaking or opened.times is not None or opened.within is not None:
        return []
    X, positive = opened.loaded or (None, np.empty(0, dtype=bool))
    aucs = {name: auc for name, auc in found.aucs.items() if name in opened.schema.inputs()}
    return guarded("leaks", lambda: company(X, positive, aucs, (), opened.groups, seed, promised))


def guarded(what: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """The findings of one look at a table; that it failed is a finding too: a doctor ends no command."""
    try:
        return list(look())
    except Exception as error:
        return [_failed(what, error)]


def _failed(what: str, error: Exception) -> Finding:
    reason = f"{type(error).__name__}: {error}"
    return not_checked(f"{what}, which failed unexpectedly ({reason}). The model does not depend on it")


def look_at_repeats(opened: OpenedTable, seen: Examined, plan: TrainPlan, leaks: Sequence[str]) -> Groups:
    """The groups of rows that matter most, or that at least are there, and whether folds keep them together."""
    try:
        found = _judged_groups(_quick_columns(seen.X, seen, opened), seen, plan, leaks)
    except Exception as error:
        return Groups(None, [_failed("repeated rows", error)])
    if not found:
        return Groups()
    holdout = getattr(plan, "holdout", None)
    possible = can_keep_together(opened, found[0].codes, holdout, plan.n_splits, plan.random_state)
    first = found[0]._replace(possible=possible)
    told = list(describe_repeats(first, [other.name for other in found[1:]]))
    wanted = plan.groups == COPIES or first.matters
    return Groups(first, told, wanted and possible and first.code not in plan.ignore)


def _judged_groups(X: Any, seen: Examined, plan: TrainPlan, leaks: Sequence[str]) -> list[Repeats]:
    """Groups of rows, the first of which counts; of several, all matter.

    Groups that a column names come before copies, those with the highest correlation of errors first. Rows that agree
    in nearly all columns are copies, whichever column names them. The quick models do not see columns that give the
    answer away: they leave no errors that could tell whether groups matter.
    """
    order, sorted_rows = seen.sorted()
    honest = [name for name in X.column_names if not is_made_of(name, leaks)]
    table = QuickTable(X.select(honest) if honest else X, order, sorted_rows.positive, plan.random_state)
    groups = _choose_groups(sorted_rows, table, plan, leaks)
    place_in_file = np.empty_like(order)
    place_in_file[order] = np.arange(order.size)
    return [one._replace(codes=one.codes[place_in_file]) for one in groups]


def _choose_groups(rows: Examined, table: QuickTable, plan: TrainPlan, leaks: Sequence[str]) -> list[Repeats]:
    """The groups that matter: of columns, of two columns together, of copies; else one of those that do not matter."""
    seed = plan.random_state
    copies = find_copies(rows.codes, seed)
    if plan.groups == COPIES:
        return [] if copies is None else [judge_groups(COPIES, copies, table)]

    candidates = name_groups(rows.codes, rows.names, seed, rows.positive, rows.unordered, copies, leaks)
    if copies is not None:  # rows that agree in nearly all columns are copies, whichever column names them
        candidates = [groups for groups in candidates if groups.equal <= 0.95]
    of_columns = _judged(candidates, table)
    if groups := _that_matter(of_columns):
        return sorted(groups, key=lambda one: -one.bound)

    if copies is None:
        crossed = _judged(name_crossed_groups(rows.codes, rows.names, seed), table)
        return _that_matter(crossed) or of_columns[:1]
    of_copies = judge_groups(COPIES, copies, table)
    if not of_copies.matters:
        return of_columns[:1] or [of_copies]
    columns = {**rows.codes, **rows.names}
    owners = _judged(owners_of_copies(copies, columns, rows.positive, rows.unordered, seed), table)
    return _that_matter(owners) or [of_copies]


def _judged(candidates: Iterable[NamedGroups], table: QuickTable) -> list[Repeats]:
    return [judge_groups(groups.name, groups.codes, table) for groups in candidates]


def _that_matter(judged: Iterable[Repeats]) -> list[Repeats]:
    return [groups for groups in judged if groups.matters]


def _quick_columns(X: Any, seen: Examined, opened: OpenedTable) -> Any:
    """The rows with the columns that the quick model takes: those that tell the classes apart best, of very many."""
    if len(opened.schema.columns) <= QUICK_COLUMNS:
        return X
    return X.select(_most_distant(X, seen.positive, opened.schema, QUICK_COLUMNS // 2)[:QUICK_COLUMNS])


def constant_columns(names: Sequence[str]) -> Finding:
    """The finding that columns, or features made of them, are the same in all rows."""
    shown = in_short([str(name) for name in names])
    return Finding("constant", "note", f"constant and so without effect: {shown}", columns=names)


def _sampled(looked_at: int, rows: int) -> Finding:
    seen = f"; only {looked_at:,} rows of {rows:,} were seen" if looked_at < rows else ""
    return not_checked(f"whether rows repeat across the table, or drift{seen}")


def in_order(findings: Iterable[Finding], ignore: Sequence[str] = ()) -> list[Finding]:
    """Merge findings into one for each code, without the codes to ignore; the most severe come first."""
    by_code: dict[str, list[Finding]] = {}
    for one in findings:
        if one.code not in ignore and one not in by_code.setdefault(one.code, []):
            by_code[one.code].append(one)
    found = []
    for code, same in by_code.items():
        grade = min((one.severity for one in same), key=SEVERITIES.index)
        columns = [str(name) for one in same for name in one.columns]
        if len(same) <= 1:
            found += same
        elif len(columns) < len(same) or code not in SEVERAL:
            found.append(one_after_the_other(same, grade))
        else:
            found.append(about_several(code, grade, columns))
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), CODES.index(one.code)))


def about_several(code: str, severity: Severity, columns: Sequence[str]) -> Finding:
    """One finding about several columns of one code; a note names the first of them alone as an example."""
    says, option, does = SEVERAL[code]
    sentence = f"columns {in_short(columns)} {says}"
    if option is None:
        return Finding(code, severity, sentence, columns=columns)
    value: Any = columns[:1] if severity == "note" else columns
    if option == "dates":
        value = "drop"
    return Finding(code, severity, sentence, [Fix(option, value, does)], columns=columns)


def one_after_the_other(several: Sequence[Finding], severity: Any) -> Finding:
    """One finding of several of one code: their sentences in their order, and what can be done about each."""
    sentence = several[0].sentence
    fixes = list(several[0].fixes)
    for finding in several[1:]:
        if fixes:
            fixes[-1] = fixes[-1]._replace(does=f"{fixes[-1].does}; {finding.sentence}")
        else:
            sentence += f"; {finding.sentence}"
        fixes += finding.fixes
    return Finding(several[0].code, severity, sentence, fixes)


def not_checked(what: str) -> Finding:
    """The finding that something could not be looked at."""
    return Finding("not-checked", "note", f"not looked at: {what}")


def look_at_labels(opened: OpenedTable, is_positive: np.ndarray, all_events: bool = False) -> Iterator[Finding]:
    """Yield findings on labels: missing, misspelt, more than two, rare, or a majority as the default positive."""
    positive = opened.positive
    counts = dict(opened.counts)
    if not counts:  # of a file whose labels were not counted one by one
        another = next(label for label in opened.schema.labels or () if label != positive)
        counts = {positive: int(is_positive.sum()), another: int((~is_positive).sum())}
    labelled = sum(counts.values())
    if opened.unlabelled:
        yield _describe_unlabelled(opened.unlabelled, opened.unlabelled + labelled)

    if opened.times is not None and all_events:  # an order, or times of which none is censored
        counts = {positive: labelled}
    others = {str(label): count for label, count in counts.items() if label != positive}
    yield from _misspelt_labels(others, counts)
    if len(counts) > 2:
        listed = ", ".join(f"{name!r} ({count:,} rows)" for name, count in list(others.items())[:SHOWN])
        sentence = f"all labels but {str(positive)!r} are one class: {listed}; rows that are to be left out need an "
        yield Finding("labels", "note", sentence + "empty label")

    n_positive = counts.get(positive, 0)
    n_others = labelled - n_positive
    if opened.times is None and n_others < 50:
        yield _describe_few_rows(n_others, "not positive")
    if n_positive < 50:
        yield _describe_few_rows(n_positive, "positive")
    if opened.plan.positive is None and len(counts) == 2 and n_positive > 0.6 * labelled:
        (other,) = others
        share = 100.0 * n_positive / labelled
        sentence = f"I look for {str(positive)!r} ({share:.0f} % of the rows)."
        fix = Fix("positive", other, f" Looking for {other!r}? Add {OPTION}.")
        yield Finding("majority", "note", sentence, [fix], {"share": share})


def _describe_unlabelled(unlabelled: int, rows: int) -> Finding:
    share = 100.0 * unlabelled / rows
    severity: Severity = "note"
    if share >= 50.0:
        severity = "severe"
    elif share >= 5.0:
        severity = "warning"
    sentence = (
        f"{unlabelled:,} of {rows:,} rows ({share:.1f} %) have no label and are left out: are the rest like new rows?"
    )
    return Finding("unlabelled", severity, sentence, numbers={"count": unlabelled, "rows": rows})


def _describe_few_rows(count: int, name: str) -> Finding:
    sentence = f"only {count} rows are {name}: intervals are wide and the choice of the penalty is shaky"
    return Finding("few-rows", "warning", sentence, numbers={"count": count})


def _misspelt_labels(others: Mapping[str, int], counts: Mapping[Any, int]) -> Iterator[Finding]:
    """Yield a finding on each rare label that is nearly spelt like another one."""
    most = max(counts.values())
    for label, count in others.items():
        if count > 0.05 * most:
            continue
        near = next((str(other) for other in counts if are_nearly_spelt_alike(label, str(other))), None)
        if near is not None:
            sentence = f"the label {label!r} ({count:,} rows) may be a misspelt {near!r}, and counts as another class"
            yield Finding("labels", "warning", sentence, numbers={"count": count})


def are_nearly_spelt_alike(label: str, other: str) -> bool:
    """Whether two texts differ, but at least 80 % of the letters of both match.

    >>> (
    ...     are_nearly_spelt_alike("Regan", "Reagan"),
    ...     are_nearly_spelt_alike("no", "none"),
    ...     are_nearly_spelt_alike("101", "100"),
    ... )
    (True, False, False)
    """
    label_in_short = label.strip().casefold()
    other_in_short = other.strip().casefold()
    if label == other or label_in_short.isdigit() or min(len(label_in_short), len(other_in_short)) < 3:
        return False
    return SequenceMatcher(None, label_in_short, other_in_short).ratio() >= 0.8


def look_at_columns(seen: Examined, aucs: Mapping[str, float], seed: int) -> Iterator[Finding]:
    """Yield findings on columns: leaks, an order of rows that tells the label, missing values, spellings, codes.

    `aucs` are those of single columns.
    """
    rng = np.random.default_rng(seed)
    rows = some_rows(seen.positive.size, rng)
    y = seen.positive[rows]
    fold = rng.integers(0, 5, rows.size)
    if min(y.sum(), (~y).sum()) >= 20:
        yield from _leaks(seen, rows, y, aucs)
        yield from _order(seen, rows, y, fold)
    if not sparse.issparse(seen.X):
        yield from _missing_values(seen)
    yield from _spellings(seen)
    yield from _codes(seen)


def _order(seen: Examined, rows: np.ndarray, y: np.ndarray, fold: np.ndarray) -> Iterator[Finding]:
    """Yield a finding if the order of the rows, or a column that only names them, tells the label."""
    aucs = {"the order of the rows": alone(rows, y, fold, True)}
    for name, codes in seen.names.items():
        aucs[f"column {name!r}"] = alone(codes[rows], y, fold, True)
    what = max(aucs, key=aucs.__getitem__)
    auc = aucs[what]
    noise = roc_auc_ci(y, np.random.default_rng(0).random(y.size)).standard_error
    if auc >= max(0.6, 0.5 + 4.0 * noise):
        severity: Severity = "warning" if auc >= 0.8 else "note"
        sentence = (
            f"{what} goes with the label (AUC {auc_text(auc)}), and is not used: was the table put together from lists?"
        )
        yield Finding("order", severity, sentence, numbers={"auc": auc})


def _missing_values(seen: Examined) -> Iterator[Finding]:
    """Yield a finding on columns with gaps, the worst first."""
    shares = {name: float((codes < 0).mean()) for name, codes in seen.codes.items() if (codes < 0).any()}
    if not shares:
        return
    worst_first = sorted(shares, key=lambda name: -shares[name])
    listed = ", ".join(f"{name!r} in {_percent(shares[name])} of the rows" for name in worst_first[:SHOWN])
    not_shown = len(worst_first) - SHOWN
    if not_shown > 0:
        listed += f", and in {not_shown} more column{'s' if not_shown > 1 else ''}"
    yield Finding("missing-values", "note", f"values are missing: {listed}", columns=worst_first)


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 5e-4 else f"{100 * share:.1f} %"


def _spellings(seen: Examined) -> Iterator[Finding]:
    """Yield a finding on columns with categories that differ by case or blanks alone."""
    columns = []
    examples = []
    for name, texts in seen.texts.items():
        if len(texts) > 100_000:
            continue
        spellings: dict[str, list[str]] = {}
        for text in texts:
            spellings.setdefault(" ".join(text.split()).casefold(), []).append(text)
        several = next((alike for alike in spellings.values() if len(alike) > 1), None)
        if several is not None:
            columns.append(name)
            examples.append(f"{name!r} ({' and '.join(map(repr, sorted(several)[:2]))})")
    if columns:
        listed = in_short(examples, quoted=False)
        sentence = f"categories differ by case or blanks alone and count as different: {listed}; spell them in one way"
        yield Finding("spellings", "warning", sentence, columns=columns)


NAME_OF_CODES = re.compile(
    r"(^|[^a-z])(zip|zip.?codes?|plz|post.?codes?|postal.*|fips|naics|sic|icd.?\d*|phone|area.?code)$"
)


def _codes(seen: Examined) -> Iterator[Finding]:
    """Yield a finding on each column of numbers whose name says that they are codes."""
    for name in sorted(seen.numeric):
        if not NAME_OF_CODES.search(name.lower()) or name in seen.dates:
            continue
        if seen.codes[name].max(initial=-1) >= 9:  # at least ten different numbers
            sentence = f"column {name!r} holds codes that look like numbers"
            fix = Fix("categorical", [name], f": take it as categories with {OPTION}")
            yield Finding("codes", "warning", sentence, [fix], columns=[name])


def aucs_alone(seen: Examined, seed: int) -> dict[str, float]:
    """The AUC of each column alone, on at most 50,000 rows; of none if there are fewer than 20 rows of a class."""
    rng = np.random.default_rng(seed)
    rows = some_rows(seen.positive.size, rng)
    y, fold = seen.positive[rows], rng.integers(0, 5, rows.size)
    if min(y.sum(), (~y).sum()) < 20:
        return {}
    return {name: alone(codes[rows], y, fold, name in seen.numeric) for name, codes in seen.codes.items()}


def some_rows(n_rows: int, rng: np.random.Generator, most: int = 50_000) -> np.ndarray:
    """The places of all rows, or of `most` that are drawn at random."""
    return np.arange(n_rows) if n_rows <= most else np.sort(rng.choice(n_rows, most, replace=False))


def _leaks(seen: Examined, rows: np.ndarray, y: np.ndarray, aucs: Mapping[str, float]) -> Iterator[Finding]:
    """Yield findings on columns that nearly tell the label by themselves, and on columns whose missing values do.

    An AUC of 0.95 is no surprise where other columns tell the label nearly as well, as in measurements of one thing.
    """
    leaks: dict[str, float] = {}
    gaps: dict[str, float] = {}
    best_other = 0.5
    for name, auc in aucs.items():
        missing = seen.codes[name][rows] < 0
        auc_of_gaps = 0.5 + abs(missing[y].mean() - missing[~y].mean()) / 2.0
        if auc_of_gaps >= 0.8 and auc_of_gaps >= auc - 0.05:
            gaps[name] = auc_of_gaps
        elif auc >= 0.95:
            leaks[name] = auc
        else:
            best_other = max(best_other, auc)
    if leaks:
        is_no_surprise = max(leaks.values()) < 0.99 and 1.0 - best_other < 3.0 * (1.0 - min(leaks.values()))
        if not is_no_surprise:
            question = "is it known before the outcome?"
            yield _describe_telling("leak", leaks, 0.99, "alone nearly separates the classes", question)
    if gaps:
        question = "are its gaps known before the outcome?"
        yield _describe_telling("missingness", gaps, 0.95, "is filled in for one class", question)


def _describe_telling(code: str, aucs: Mapping[str, float], severe: float, what: str, question: str) -> Finding:
    """The finding that each of these columns tells the label; it is severe from an AUC, as that is shown."""
    names = sorted(aucs, key=lambda name: -aucs[name])
    shown_aucs = {name: float(f"{aucs[name]:.3f}") for name in names}
    strongest = [name for name in names if shown_aucs[name] >= severe]
    severity: Severity = "severe" if strongest else "warning"
    listed = ", ".join(auc_text(aucs[name]) for name in names[:SHOWN])
    subject = in_short(names) if len(names) == 1 else f"each of {in_short(names)}"
    them = "it" if len(names) == 1 else "them"
    sentence = f"{subject} {what} (AUC {listed}): {question}"
    fix = Fix("drop", strongest or names, f" If not, leave {them} out with {OPTION}")
    return Finding(code, severity, sentence, [fix], {"auc": aucs[names[0]]}, names)


def _most_distant(X: Any, positive: np.ndarray, schema: Any, most: int) -> list[str]:
    """The `most` numeric columns whose class means are furthest apart, and all columns of categories."""
    without = replace(schema, categorical={})
    encoded = without.encode(X, sparse=sparse.issparse(X))
    moments = ClassMoments(encoded.shape[1], classes=[False, True], scatter=False).update(encoded, positive)
    distance = np.abs(moments.delta) / np.sqrt(moments.within_diagonal + np.finfo(float).tiny)
    places = np.sort(np.argsort(-distance, kind="stable")[:most])
    return [*(without.columns[place] for place in places), *schema.categorical]


def describe_repeats(groups: Repeats, others: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield a finding on groups of rows that matter or are many; `others` names more columns whose groups matter."""
    if groups.matters:
        yield describe_groups_that_matter(groups, others)
    elif groups.name == COPIES:
        if groups.share >= 0.05:
            sentence = (
                f"{100.0 * groups.share:.0f} % of the rows are copies or near copies. The AUC does not depend on them"
            )
            yield Finding("duplicates", "note", sentence, numbers={"share": groups.share})
    else:
        sentence = f"rows with the same {groups.name!r} are alike; that changes no number here"
        fix = Fix("groups", groups.name, f", and {OPTION} would keep them together")
        yield Finding("repeated-rows", "note", sentence, [fix])


def describe_groups_that_matter(groups: Repeats, others: Sequence[str]) -> Finding:
    """The finding on groups of rows that folds have to keep together, or would have to."""
    is_judged_by_model = not np.isnan(groups.apart)
    is_severe = not groups.possible or not is_judged_by_model or groups.changes_headline
    severity: Severity = "severe" if is_severe else "warning"
    if groups.name == COPIES:
        sentence = f"{100.0 * groups.share:.0f} % of the rows are copies"
        together = "copies"
        new_rows = "new rows"
    else:
        sentence = f"rows with the same {groups.name!r} are alike"
        together = f"each {groups.name}"
        new_rows = f"rows of a new {groups.name}"

    numbers: dict[str, float] = {"share": groups.share}
    if is_judged_by_model:
        numbers |= {"apart": groups.apart, "together": groups.together}
        sentence += (
            f": a quick model has the AUC {auc_text(groups.apart, 2)} if rows are taken as independent, "
            f"{auc_text(groups.together, 2)} if folds keep {together} together"
        )
    else:
        sentence += ", and so are their labels"

    if not groups.possible:
        sentence += (
            ". But too few of them have another label than the others, so that folds cannot keep them together: "
            f"the AUC to expect is too high for {new_rows}"
        )
        mute = Fix("groups", INDEPENDENT, f". {OPTION} mutes this")
        return Finding(groups.code, severity, sentence, [mute], numbers)

    if groups.changes_headline:
        sentence += f"; expect the second for {new_rows}"
    elif is_judged_by_model:
        sentence += "; intervals would be too narrow"
    if groups.name == COPIES:
        independent = f"; {OPTION} takes rows as independent"
    else:
        independent = f"; add {OPTION} if a known {groups.name} will come back in new rows"
    fixes = [
        Fix("groups", groups.name, f". So folds keep them together, as with {OPTION}"),
        Fix("groups", INDEPENDENT, independent),
    ]
    if others:
        alike = " or ".join(repr(name) for name in others)
        fixes.append(
            Fix("groups", others[0], f". Rows with the same {alike} are alike too: {OPTION} would keep those together")
        )
    return Finding(groups.code, severity, sentence, fixes, numbers)


def look_at_drift(X: Any, seen: Examined, seed: int) -> Iterator[Finding]:
    """Yield a finding if models of earlier rows predict later rows less well than models of rows of all times do."""
    usable = [name for name in seen.dates if (seen.codes[name] >= 0).all() and seen.codes[name].max() >= 50]
    if not usable or min(seen.positive.sum(), (~seen.positive).sum()) < 100:
        return
    name = usable[0]
    rows = np.sort(np.random.default_rng(seed).permutation(seen.positive.size)[:QUICK_ROWS])
    X, y, time = rows_of(X, rows), seen.positive[rows], seen.codes[name][rows].astype(np.float64)
    folds = with_both_classes(forward_folds(time, y, 5), y)
    if len(folds) < 2:
        return
    later = np.concatenate([test for _, test in folds])
    mixed = roc_auc_ci(y[later], quick_scores(X, y, 5, seed).scores[later])
    forward = roc_auc_ci(y[later], quick_scores(X, y, folds, seed).scores[later])
    if mixed.auc - forward.auc >= max(0.03, 2.0 * forward.standard_error):
        sentence = (
            f"the past predicts the future less well: a quick model has the AUC {auc_text(mixed.auc, 2)} with rows of "
            f"all times mixed, and {auc_text(forward.auc, 2)} for rows that are later (by {name!r}) than all it was "
            "trained on"
        )
        fix = Fix("time", name, f". Add {OPTION} to measure that")
        yield Finding("drift", "warning", sentence, [fix], {"mixed": mixed.auc, "forward": forward.auc})
