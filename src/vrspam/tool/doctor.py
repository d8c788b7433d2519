"""Find what fools people in a table, before a number is shown: each `Finding` has a code, a severity and a fix.

`check` looks at a table alone; `train` and `make_report` call `examine` for the table that they have opened. Sentences
about columns come from `vrspam.tables`; this module joins those of one code. docs/doctor.md has a section on each code.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.messages import CODES, SEVERITIES, Finding, Parameter
from vrspam._utils.texts import auc_text
from vrspam._utils.warnings import SHOWN, in_short
from vrspam.data.readers.base import RowsUnlabelled
from vrspam.metrics import roc_auc_ci, roc_auc_columns
from vrspam.model_selection.folds import forward_folds
from vrspam.moments import ClassMoments
from vrspam.tables.frames import numbers, rows_of
from vrspam.tool.plan import CHECKED, COPIES, INDEPENDENT, TrainPlan, takes
from vrspam.tool.repeats import QUICK_COLUMNS, QUICK_ROWS, Repeats, find_copies, judge_groups, name_groups, quick_scores
from vrspam.tool.table import OpenedTable, RowSample, open_labelled, two_sides

SAMPLED = 20_000  # rows of a stream or a cluster that are looked at
MOST_COLUMNS = 1000  # columns that are looked at one by one

#: Sentences about several columns; the sentence about a single column comes from the reader of the table.
SEVERAL = {
    "identifiers": "columns {columns} look like identifiers and were left out; {include} would keep one",
    "left-out": "columns {columns} have no values that can be used; left out",
    "dates": "columns {columns} hold dates: their year, month, weekday and hour are features; {dates} leaves dates out",
    "text-numbers": "columns {columns} hold text that was read as numbers; {categorical} would take one as categories",
    "unread-text": "columns {columns} hold numbers; text among them counts as missing",
    "codes": "columns {columns} hold codes that look like numbers: take them as categories with {categorical}",
    "large-integers": "columns {columns} hold integers beyond 2**53, which lose digits: leave them out with {drop}",
    "many-categories": "columns {columns} have very many categories, of which the rare ones count as one, as do new "
    "ones; use {drop} if they are names",
}


class Diagnosis(NamedTuple):
    """Findings that `OpenedTable.notes` does not have, the groups that folds must keep together, constant columns."""

    findings: list[Finding]
    repeats: Repeats | None = None
    constant: Sequence[str] = ()


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
        others = dict[str, np.ndarray]()
        for name, column in kept.items():
            if name in schema.identifiers:
                with suppress(ValueError):  # whole numbers that were kept as text have an order
                    column = column.cast("float64")
                others[name] = codes_of(column)[0]
        return cls(X, positive, codes, frozenset(codes) - set(texts), texts, others, dates)


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
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the first reading has warned
        grouped = open_labelled(path, replace(plan, groups=found.repeats.name), keep)
    return grouped, found


def examine(opened: OpenedTable, plan: TrainPlan, sample: RowSample | None = None) -> Diagnosis:
    """Look at a table in memory, or at a sample of a stream."""
    if sample is None and opened.loaded is None and plan.streaming:
        return Diagnosis([])  # it is looked at when its blocks are read
    X, positive = opened.load_rows() if sample is None else (sample.X, sample.y)
    all_events, positive = bool(positive.all()), two_sides(positive, opened.times)
    seen = Examined.of(X, positive, opened.schema, opened.kept)
    whole = sample is None and len(seen.codes) == len(opened.schema.columns)
    constant = [name for name, codes in seen.codes.items() if (codes == codes[0]).all()] if sample is None else []
    found = [*look_at_labels(opened, positive, all_events), *look_at_columns(seen, plan.random_state)]
    if all_events:  # the classes are halves of an order: a column that separates them is no leak
        found = [one for one in found if one.code != "leak"]
    if constant:
        found.append(constant_columns(constant))
    repeats = None
    if sample is not None:
        found.append(_sampled(positive.size, sample.seen))
    elif not opened.chunks.source.reader.tabular or len(opened.schema.columns) > 5 * QUICK_COLUMNS:
        found.append(not_checked("repeated rows and drift, which need a table of at most 1,000 named columns"))
    elif plan.groups == COPIES or (plan.groups is None and plan.time is None):
        if len(opened.schema.columns) > QUICK_COLUMNS:
            X = X.select(_most_distant(X, positive, opened.schema, QUICK_COLUMNS // 2)[:QUICK_COLUMNS])
        # groups that matter, those with the highest correlation of errors first; copies where no column's groups matter
        named = [] if plan.groups == COPIES else name_groups(seen.codes, seen.names, plan.random_state)
        rows = X, positive, plan.random_state
        # groups whose rows agree in nearly all columns are copies, whichever column names them
        judged = [judge_groups(name, codes, *rows) for name, mean, codes in named if mean <= 0.95]
        groups = sorted((one for one in judged if one.matters), key=lambda one: -one.bound)
        if not groups:
            copies = find_copies(seen.codes, plan.random_state)
            others = [] if copies is None else [judge_groups(COPIES, copies, *rows)]
            groups = others if not judged or (others and others[0].matters) else judged[:1]
        repeats = next(iter(groups), None)
        found += [] if repeats is None else describe_repeats(repeats, [other.name for other in groups[1:]])
        if repeats is None or not repeats.matters:
            found += look_at_drift(X, seen, plan.random_state)
    acted = repeats is not None and (plan.groups == COPIES or repeats.matters) and repeats.code not in plan.ignore
    return Diagnosis(found, repeats if acted else None, constant if whole else ())


def constant_columns(names: Sequence[str]) -> Finding:
    """The finding that columns, or features made of them, are the same in all rows."""
    shown = in_short([str(name) for name in names])
    return Finding("constant", "note", "constant and so without effect: {columns}", columns=shown)


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
        columns = [str(one.fields["column"]) for one in same if one.fields.get("column")]
        if len(same) <= 1:
            found += same
        elif len(columns) < len(same) or code not in SEVERAL:  # one sentence after the other
            parts = {f"part{number}": one for number, one in enumerate(same)}
            found.append(Finding(code, grade, "; ".join(f"{{{part}}}" for part in parts), **parts))
        else:
            some, template = columns[:1] if grade == "note" else columns, SEVERAL[code]
            ways = {way: Parameter(way, some) for way in ("include", "drop", "categorical")}
            fields = {**ways, "dates": Parameter("dates", "drop"), "columns": in_short(columns)}
            used = {name: value for name, value in fields.items() if f"{{{name}}}" in template}
            found.append(Finding(code, grade, template, **used))
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), CODES.index(one.code)))


def not_checked(what: str) -> Finding:
    """The finding that something could not be looked at."""
    return Finding("not-checked", "note", "not looked at: {what}", what=what)


def look_at_labels(opened: OpenedTable, is_positive: np.ndarray, all_events: bool = False) -> Iterator[Finding]:
    """Yield findings on labels: missing, misspelt, more than two, rare, or a majority as the default positive."""
    positive, counts = opened.positive, dict(opened.counts)
    if not counts:  # of a file whose labels were not counted one by one
        another = next(label for label in opened.schema.labels or () if label != positive)
        counts = {positive: int(is_positive.sum()), another: int((~is_positive).sum())}
    labelled, positives = sum(counts.values()), counts.get(positive, 0)
    if opened.unlabelled:
        rows = opened.unlabelled + labelled
        share = 100.0 * opened.unlabelled / rows
        grade = "severe" if share >= 50.0 else "warning" if share >= 5.0 else "note"
        words = "{count:,} of {rows:,} rows ({share:.1f} %) have no label and are left out: are the rest like new rows?"
        yield Finding("unlabelled", grade, words, count=opened.unlabelled, rows=rows, share=share)
    if opened.times is not None and all_events:  # an order, or times of which none is censored
        counts, positives = {positive: labelled}, labelled
    others = {str(label): count for label, count in counts.items() if label != positive}
    for text, count in others.items():
        near, short = [], text.strip().casefold()
        for other in map(str, counts):  # at least 80 % of the letters of both must match
            plain = other.strip().casefold()
            possible = other != text and min(len(short), len(plain)) >= 3 and not short.isdigit()
            near += [other] if possible and SequenceMatcher(None, short, plain).ratio() >= 0.8 else []
        if near and count <= 0.05 * max(counts.values()):
            words = "the label {label!r} ({count:,} rows) may be a misspelt {other!r}, and counts as another class"
            yield Finding("labels", "warning", words, label=text, count=count, other=near[0])
    if len(counts) > 2:
        listed = ", ".join(f"{name!r} ({count:,} rows)" for name, count in [*others.items()][:SHOWN])
        words = "all labels but {positive!r} are one class: {others}; rows that are to be left out need an empty label"
        yield Finding("labels", "note", words, positive=str(positive), others=listed)
    for name, count in (("not positive", labelled - positives), ("positive", positives)):
        if count < 50 and not (opened.times is not None and name == "not positive"):
            words = "only {count} rows are {name}: intervals are wide and the choice of the penalty is shaky"
            yield Finding("few-rows", "warning", words, count=count, name=name)
    if opened.plan.positive is None and len(counts) == 2 and positives > 0.6 * labelled:
        ((other, _),) = others.items()
        words = "I look for {positive!r} ({share:.0f} % of the rows). Looking for {other!r}? Add {fix}."
        fields = {"positive": str(positive), "share": 100.0 * positives / labelled, "other": other}
        yield Finding("majority", "note", words, **fields, fix=Parameter("positive", other))


def look_at_columns(seen: Examined, seed: int) -> Iterator[Finding]:
    """Yield findings on columns: leaks, missing values, spellings, codes, and an order of rows that tells the label."""
    rng = np.random.default_rng(seed)
    rows, most = np.arange(seen.positive.size), 50_000
    rows = rows if rows.size <= most else np.sort(rng.choice(rows, most, replace=False))
    y = seen.positive[rows]
    fold = rng.integers(0, 5, rows.size)
    if min(y.sum(), (~y).sum()) >= 20:
        yield from _leaks(seen, rows, y, fold)
        told = {"the order of the rows": alone(rows, y, fold, True)}
        told |= {f"column {name!r}": alone(codes[rows], y, fold, True) for name, codes in seen.names.items()}
        name = max(told, key=lambda one: told[one])
        noise = roc_auc_ci(y, np.random.default_rng(0).random(y.size)).standard_error
        if told[name] >= max(0.6, 0.5 + 4.0 * noise):
            words = "{what} goes with the label (AUC {auc}), and is not used: was the table put together from lists?"
            grade = "warning" if told[name] >= 0.8 else "note"
            yield Finding("order", grade, words, what=name, auc=auc_text(told[name]))
    missing = {name: float((codes < 0).mean()) for name, codes in seen.codes.items() if (codes < 0).any()}
    if missing and not sparse.issparse(seen.X):
        worst = sorted(missing, key=lambda name: -missing[name])
        percents = {name: f"{100 * missing[name]:.1f} %" for name in worst[:SHOWN]}
        percents |= {name: "less than 0.1 %" for name in percents if missing[name] < 5e-4}
        shown = ", ".join(f"{name!r} in {percent} of the rows" for name, percent in percents.items())
        more = f", and in {rest} more column{'s' if rest > 1 else ''}" if (rest := len(worst) - SHOWN) > 0 else ""
        yield Finding("missing-values", "note", "values are missing: {shown}", shown=shown + more)
    spelt = []
    for name, texts in seen.texts.items():
        plain: dict[str, list[str]] = {}
        for text in texts if len(texts) <= 100_000 else ():
            plain.setdefault(" ".join(text.split()).casefold(), []).append(text)
        pairs = [same for same in plain.values() if len(same) > 1]
        if pairs:
            spelt.append(f"{name!r} ({' and '.join(map(repr, sorted(pairs[0])[:2]))})")
    if spelt:
        words = "categories differ by case or blanks alone and count as different: {columns}; spell them in one way"
        yield Finding("spellings", "warning", words, columns=in_short(spelt, quoted=False))
    odd = re.compile(r"(^|[^a-z])(zip|zip.?codes?|plz|post.?codes?|postal.*|fips|naics|sic|icd.?\d*|phone|area.?code)$")
    for name in sorted(seen.numeric):
        if odd.search(name.lower()) and name not in seen.dates and seen.codes[name].max(initial=-1) >= 9:
            words = "column {column!r} holds codes that look like numbers: take it as categories with {categorical}"
            yield Finding("codes", "warning", words, column=name)


def alone(codes: np.ndarray, positive: np.ndarray, fold: np.ndarray, ordered: bool) -> float:
    """The AUC of a column by each value's share of positives in other folds or, if `ordered` and larger, by its values.

    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(1000) < 0.3
    >>> fold, noise = rng.integers(0, 5, (2, 1000))
    >>> float(alone(np.where(sick, 7, 3), sick, fold, False)), 0.4 < alone(noise, sick, fold, False) < 0.6
    (1.0, True)
    """
    bins = codes + 1
    if ordered and codes.max(initial=0) >= 64:
        edges = np.unique(np.quantile(codes[codes >= 0], np.linspace(0.0, 1.0, 33)[1:-1]))
        bins = np.where(codes < 0, 0, 1 + np.searchsorted(edges, codes, side="left"))
    width = int(bins.max(initial=0)) + 1
    cells = 5 * bins + fold
    count, hits = (np.bincount(cells, weights, 5 * width).reshape(width, 5) for weights in (None, positive))
    base = positive.mean()
    share = (hits.sum(1, keepdims=True) - hits + base) / (count.sum(1, keepdims=True) - count + 1.0)
    scores = [share.ravel()[cells]]
    if ordered and (codes >= 0).any():
        scores.append(np.where(codes < 0, codes[codes >= 0].mean(), codes))
    found, *straight = roc_auc_columns(positive, np.column_stack(scores)).tolist()
    return max(found, *(max(auc, 1.0 - auc) for auc in straight)) if straight else found


def _leaks(seen: Examined, rows: np.ndarray, y: np.ndarray, fold: np.ndarray) -> Iterator[Finding]:
    """Yield findings on columns that nearly tell the label by themselves, and on columns whose missing values do.

    An AUC of 0.95 is no surprise where other columns tell the label nearly as well, as in measurements of one thing.
    """
    told, gaps, rest = dict[str, float](), dict[str, float](), 0.5
    for name, codes in seen.codes.items():
        some = codes[rows]
        auc = alone(some, y, fold, name in seen.numeric)
        missing = some < 0
        gap = 0.5 + abs(missing[y].mean() - missing[~y].mean()) / 2.0
        if gap >= 0.8 and gap >= auc - 0.05:
            gaps[name] = gap
        elif auc >= 0.95:
            told[name] = auc
        else:
            rest = max(rest, auc)
    if told and max(told.values()) < 0.99 and 1.0 - rest < 3.0 * (1.0 - min(told.values())):
        told = {}
    for code, found, severe, words in (
        ("leak", told, 0.99, "alone nearly separates the classes ({aucs}): is it known before the outcome?"),
        ("missingness", gaps, 0.95, "is filled in for one class ({aucs}): are its gaps known before the outcome?"),
    ):
        names = sorted(found, key=lambda name: -found[name])
        if names:
            told_as = {name: float(f"{found[name]:.3f}") for name in names}
            grade = "severe" if told_as[names[0]] >= severe else "warning"
            aucs = ", ".join(auc_text(found[name]) for name in names[:SHOWN])
            strong = [name for name in names if grade == "warning" or told_as[name] >= severe]
            subject = "{columns} " if len(names) == 1 else "each of {columns} "
            advice = " If not, leave it out with {drop}" if len(names) == 1 else " If not, leave them out with {drop}"
            fields = {"columns": in_short(names), "aucs": f"AUC {aucs}", "drop": Parameter("drop", strong)}
            yield Finding(code, grade, subject + words + advice, **fields)


def _most_distant(X: Any, positive: np.ndarray, schema: Any, most: int) -> list[str]:
    """The `most` numeric columns whose class means are furthest apart, and all columns of categories."""
    without = replace(schema, categorical={})
    encoded = without.encode(X, sparse=sparse.issparse(X))
    moments = ClassMoments(encoded.shape[1], classes=[False, True], scatter=False).update(encoded, positive)
    distance = np.abs(moments.delta) / np.sqrt(moments.within_diagonal + np.finfo(float).tiny)
    places = np.sort(np.argsort(-distance, kind="stable")[:most])
    return [*(without.columns[place] for place in places), *schema.categorical]


def describe_repeats(found: Repeats, others: Sequence[str] = ()) -> Iterator[Finding]:
    """Yield a finding on groups of rows that matter or are many; `others` names more columns whose groups matter."""
    copies, share = found.name == COPIES, 100.0 * found.share
    fix = Parameter("groups", found.name)
    if found.matters:
        words = "{share:.0f} % of the rows are copies" if copies else "rows with the same {name!r} are alike"
        words += ": a quick model has the AUC {apart} if rows are taken as independent, {together} if folds keep {how} "
        words += "together"
        words += "; expect the second for {new}" if found.changes_headline else "; intervals would be too narrow"
        words += ". So folds keep them together, as with {fix}; "
        words += "{none} takes rows as independent" if copies else "add {none} if {known} will come back in new rows"
        words += ". Rows with the same {others} are alike too: {another} would keep those together" if others else ""
        fields: dict[str, Any] = {"share": share} if copies else {"name": found.name}
        fields |= {"apart": auc_text(found.apart, 2), "together": auc_text(found.together, 2), "fix": fix}
        known = {"new": f"rows of a new {found.name}", "known": f"a known {found.name}"}
        fields |= {"new": "new rows"} if copies else known
        fields |= {"how": "copies" if copies else f"each {found.name}", "none": Parameter("groups", INDEPENDENT)}
        crossing = {"others": " or ".join(map(repr, others)), "another": Parameter("groups", *others[:1])}
        fields |= crossing if others else {}
        yield Finding(found.code, "severe" if found.changes_headline else "warning", words, **fields)
    elif copies and found.share >= 0.05:
        words = "{share:.0f} % of the rows equal another one in all columns, or in all but one; that changes no number"
        yield Finding("duplicates", "note", words, share=share)
    elif not copies:
        words = "rows with the same {name!r} are alike; that changes no number here, and {fix} would keep them together"
        yield Finding("repeated-rows", "note", words, name=found.name, fix=fix)


def look_at_drift(X: Any, seen: Examined, seed: int) -> Iterator[Finding]:
    """Yield a finding if models of earlier rows predict later rows less well than models of rows of all times do."""
    usable = [name for name in seen.dates if (seen.codes[name] >= 0).all() and seen.codes[name].max() >= 50]
    if not usable or min(seen.positive.sum(), (~seen.positive).sum()) < 100:
        return
    name = usable[0]
    rows = np.sort(np.random.default_rng(seed).permutation(seen.positive.size)[:QUICK_ROWS])
    X, y, time = rows_of(X, rows), seen.positive[rows], seen.codes[name][rows].astype(np.float64)
    folds = forward_folds(time, y, 5)
    if len(folds) < 2:
        return
    later = np.concatenate([test for _, test in folds])
    scores = (quick_scores(X, y, how, seed)[1][later] for how in (5, folds))
    mixed, forward = (roc_auc_ci(y[later], quick) for quick in scores)
    if mixed.auc - forward.auc >= max(0.03, 2.0 * forward.standard_error):
        words = (
            "the past predicts the future less well: a quick model has the AUC {mixed} with rows of all times mixed, "
            "and {forward} for rows that are later (by {name!r}) than all it was trained on. Add {time} to measure that"
        )
        aucs = {"mixed": auc_text(mixed.auc, 2), "forward": auc_text(forward.auc, 2)}
        yield Finding("drift", "warning", words, **aucs, name=name, time=Parameter("time", name))
