"""Checks of the data that a model is trained on, as notes for the model file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.warnings import AllCoefficientsZero, GridEdge, GridNotCertified, NotConverged, NothingAtTheTop
from vrspam.data import Schema
from vrspam.metrics import roc_auc_columns
from vrspam.moments import ClassMoments
from vrspam.tables.frames import numbers


def note_of(noticed: Warning | str) -> str:
    """A note for the model file; advice of the estimators becomes advice about `train`.

    >>> note_of(GridNotCertified(2, 60))
    '2 of 60 candidates for the penalty did not reach the tolerance; the certificate says ...'
    >>> note_of(GridEdge("l1", 0.5, "largest", lead=0.25, error=0.125))
    'The best l1 is 0.5, the largest that was tried, and beats its neighbour by 0.25, ...: try larger numbers with l1='
    """
    missed_it = "did not reach the tolerance"
    certificate = f"{missed_it}; the certificate says how far from the optimum the model can be"
    at_the_edge = (
        "The best {parameter} is {value:g}, the {end} that was tried, and beats its neighbour by {lead:.2g}{unit}, "
        "more than one standard error ({error:.2g}): "
    )
    match noticed:
        case str():
            return noticed
        case GridNotCertified(missed=missed, total=total, convex=convex):
            return f"{missed} of {total} candidates for the penalty {certificate if convex else missed_it}"
        case NotConverged(measure=measure):
            return f"the model {certificate if measure == 'gap_' else missed_it}"
        case GridEdge(parameter=parameter, beyond=beyond):
            fields = {**vars(noticed), "unit": noticed.unit, "beyond": beyond}
            if parameter == "l1":
                return Message(at_the_edge + "try {beyond} numbers with {option}", **fields, option=Parameter("l1"))
            advice = "a {beyond} value might rank better, but `train` does not try one"
            return Message(at_the_edge + advice, **fields)
        case AllCoefficientsZero(l1=l1) if l1 > 0.0:
            return Message(
                "All coefficients are 0 at the chosen l1 = {l1:g}: every l1 that was tried is too large, or no feature "
                "ranks the validation rows better than chance; try smaller numbers with {option}",
                l1=l1,
                option=Parameter("l1"),
            )
        case NothingAtTheTop(max_fpr=max_fpr):
            return Message(
                "With {part} all coefficients are 0: no score of these columns puts the positives clearly above the "
                "negatives at the top; use a larger share, more columns, or {squared}, which trains on the whole curve "
                "and chooses by the part",
                part=Parameter("max_fpr", max_fpr),
                squared=Parameter("loss", "squared"),
            )
    return getattr(noticed, "message", str(noticed))


SHOWN = 5  # names in one warning


def note_constant_features(names: Sequence[str]) -> str:
    """The warning about features without spread."""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"constant and so without effect: {', '.join(map(repr, names[:SHOWN]))}{more}"


def note_straight(most_columns: int) -> Message:
    """The note that a table of more than `most_columns` columns got straight lines alone."""
    words = "Only a simple model was fitted, because {reason}; probably clearly worse."
    return Message(words, reason=f"curves are made of at most {most_columns:,} columns")


def note_few_maps(n_features: int) -> Message:
    """The note that on a table of so many features not all models were compared."""
    words = "Straight lines and trees were compared, because there are {count:,} features. {all} compares all, slowly."
    return Message(words, count=n_features, all=Parameter("features", "auto"))


def note_majority(positive: Any, labels: Sequence[Any], counts: Sequence[int]) -> list[str]:
    """A note where the label that is looked for, because it is the larger of two, is that of most rows."""
    others, positives = counts
    share = positives / (others + positives)
    if share <= 0.6:
        return []
    other = str(next(label for label in labels if label != positive))
    return [
        Message(
            "I look for {positive!r} ({share:.0f} % of the rows). Looking for {other!r}? Add {fix}.",
            positive=str(positive),
            share=100.0 * share,
            other=other,
            fix=Parameter("positive", other),
        )
    ]


def find_constant_columns(rows: Any, schema: Schema) -> list[str]:
    """Columns that are the same in all rows; a missing value is a value of its own."""
    if sparse.issparse(rows):
        low, high = (getattr(rows, side)(axis=0).toarray().ravel() for side in ("min", "max"))
        return [schema.columns[j] for j in np.flatnonzero(low == high)]
    if isinstance(rows, np.ndarray):
        same = (rows == rows[:1]) | (np.isnan(rows) & np.isnan(rows[:1]))
        return [schema.columns[j] for j in np.flatnonzero(same.all(axis=0))]
    return [name for name in schema.columns if len(rows.column(name).unique()) == 1]


def count_missing(rows: Any, schema: Schema) -> dict[str, int]:
    """How many values are missing in each column; the absent values of sparse rows are zeros, not gaps."""
    if sparse.issparse(rows):
        return {}
    if isinstance(rows, np.ndarray):
        return dict(zip(schema.numeric, np.isnan(rows).sum(axis=0).tolist(), strict=True))
    import pyarrow.compute as pc

    missing = {name: int(pc.sum(pc.is_null(rows.column(name), nan_is_null=True)).as_py()) for name in schema.numeric}
    return missing | {name: rows.column(name).null_count for name in schema.categorical}


def note_missing_values(missing: dict[str, int], rows: int) -> list[str]:
    """A warning about columns with missing values, the worst first."""
    worst = sorted((name for name in missing if missing[name] > 0), key=lambda name: -missing[name])
    if not worst:
        return []
    shares = {name: 100.0 * missing[name] / rows for name in worst[:SHOWN]}
    percents = {name: f"{share:.1f} %" if share >= 0.05 else "less than 0.1 %" for name, share in shares.items()}
    shown = ", ".join(f"{name!r} in {percent} of the rows" for name, percent in percents.items())
    more = f", and in {len(worst) - SHOWN} more columns" if len(worst) > SHOWN else ""
    return [f"values are missing: {shown}{more}"]


def note_leaking_features(rows: Any, positive: np.ndarray, schema: Schema, most: int = 1000) -> list[str]:
    """Warnings about columns that separate the classes all but alone; of numbers, at most `most` are looked at."""
    if not 0 < positive.sum() < positive.size:
        return []
    names = schema.columns[: len(schema.columns) - len(schema.categorical)]
    is_table = hasattr(rows, "column")
    X = sparse.csc_array(rows) if sparse.issparse(rows) else rows  # columns of CSC are quick to take
    suspects: list[tuple[str, float]] = []
    places = np.arange(len(names))
    if len(names) > most:  # those numbers whose class means are furthest apart, in their deviations
        encoded = replace(schema, categorical={}).encode(rows, sparse=sparse.issparse(rows))
        moments = ClassMoments(encoded.shape[1], classes=[False, True], scatter=False).update(encoded, positive)
        distance = np.abs(moments.delta) / np.sqrt(moments.within_diagonal + np.finfo(float).tiny)
        places = np.sort(np.argsort(-distance, kind="stable")[:most])
    for j in places.tolist():
        column = rows.column(names[j]).to_numpy() if is_table else numbers(X, j)
        if np.isnan(column).any():
            column = np.where(np.isnan(column), schema.fill[j] if schema.fill else 0.0, column)
        auc = float(roc_auc_columns(positive, column[:, np.newaxis])[0])
        suspects.append((names[j], max(auc, 1.0 - auc)))
    for name, values in schema.categorical.items():
        suspects += _category_aucs(rows.column(name), name, values, positive)
    return [
        Message(
            "{name!r} alone separates the classes (AUC {auc:.4f}): is it known before the outcome? If not, leave it "
            "out with {drop}",
            name=name,
            auc=auc,
            drop=Parameter("drop"),
        )
        for name, auc in [found for found in suspects if found[1] > 0.999][:SHOWN]
    ]


def _category_aucs(column: Any, name: str, values: Sequence[str], positive: np.ndarray) -> Iterator[tuple[str, float]]:
    """(category, AUC of being in it), and (column, AUC of ranking rows by the share of positives of their category)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.index_in(column, value_set=pa.array(values, pa.string())).fill_null(len(values))
    codes = np.asarray(found.to_numpy(), dtype=np.intp)
    counts = [np.bincount(codes[rows], minlength=len(values) + 1)[:-1] for rows in (positive, ~positive)]
    of_positives, of_others = counts
    aucs = 0.5 + np.abs(of_positives / positive.sum() - of_others / (~positive).sum()) / 2.0
    yield from zip((f"{name}={value}" for value in values), aucs.tolist(), strict=True)
    if 2 < len(values) <= positive.size / 50:  # with fewer rows in each, categories fit the labels by chance
        share = np.append(of_positives / np.maximum(of_positives + of_others, 1), 0.0)
        yield name, float(roc_auc_columns(positive, share[codes].reshape(-1, 1))[0])
