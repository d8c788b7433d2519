"""Notes of a model file on what the estimators warned of; their advice becomes advice about `train`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vrspam._utils.findings import Fix, Note
from vrspam._utils.warnings import (
    AllCoefficientsZero,
    CategoriesGrouped,
    FewerFolds,
    GridEdge,
    GridNotCertified,
    NotConverged,
    NothingAtTheTop,
)
from vrspam.data.readers.problems import RowsUnlabelled
from vrspam.data.table import Table
from vrspam.tool.folds import fewer_folds
from vrspam.tool.plan import TrainPlan

MISSED_IT = "did not reach the tolerance"
CERTIFICATE = f"{MISSED_IT}; the certificate says how far from the optimum the model can be"


def notes_of_warnings(caught: Iterable[Warning | str], table: Table, plan: TrainPlan) -> Iterator[str]:
    """Yield a note for each warning of a fit, but for those that the notes on the table say already."""
    for warning in caught:
        if isinstance(warning, RowsUnlabelled):
            continue
        if isinstance(warning, CategoriesGrouped) and warning.column in table.schema.grouped:
            continue
        if isinstance(warning, FewerFolds) and table.whole is not None:
            yield fewer_folds(table, plan, warning)
        else:
            yield note_of(warning)


def note_of(noticed: Warning | str) -> str:
    """A note for the model file; advice of the estimators becomes advice about `train`.

    >>> note_of(GridNotCertified(2, 60))
    '2 of 60 candidates for the penalty did not reach the tolerance; the certificate says ...'
    >>> note_of(GridEdge("l1", 0.5, "largest", lead=0.25, error=0.125))
    'The best l1 is 0.5, the largest that was tried, and beats its neighbour by 0.25, ...: try larger numbers with l1='
    """
    match noticed:
        case str():
            return noticed
        case GridNotCertified(missed=missed, total=total, has_gap=has_gap):
            return f"{missed} of {total} candidates for the penalty {CERTIFICATE if has_gap else MISSED_IT}"
        case NotConverged(measure=measure):
            return f"the model {CERTIFICATE if measure == 'gap_' else MISSED_IT}"
        case GridEdge():
            return _note_of_edge(noticed)
        case AllCoefficientsZero(l1=l1) if l1 > 0.0:
            return Note(
                f"All coefficients are 0 at the chosen l1 = {l1:g}: every l1 that was tried is too large, or no "
                "feature ranks the validation rows better than chance; try smaller numbers with ",
                Fix("l1"),
            )
        case NothingAtTheTop(max_fpr=max_fpr):
            return Note(
                "With ",
                Fix("max_fpr", max_fpr),
                " all coefficients are 0: no score of these columns puts the positives clearly above the negatives at "
                "the top; use a larger share, more columns, or ",
                Fix("loss", "squared"),
                ", which trains on the whole curve and chooses by the part",
            )
    return getattr(noticed, "note", str(noticed))


def _note_of_edge(edge: GridEdge) -> Note:
    """A note that the best penalty is at the end of the grid."""
    at_the_edge = (
        f"The best {edge.parameter} is {edge.value:g}, the {edge.end} that was tried, and beats its neighbour by "
        f"{edge.lead:.2g}{edge.unit}, more than one standard error ({edge.error:.2g}): "
    )
    if edge.parameter == "l1":
        return Note(at_the_edge, f"try {edge.beyond} numbers with ", Fix("l1"))
    return Note(at_the_edge, f"a {edge.beyond} value might rank better, but `train` does not try one")
