"""Warnings of the estimators as classes with fields, and `warn`, which points at the user's own line.

A warning is worded once, in its `__str__`. Code that must say the same in other words asks for its class and fields.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from vrspam._utils.messages import Message, Parameter

PASSED_OVER = {"vrspam", "sklearn", "joblib"}


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this package and of those that call it on behalf of others.

    A warning that is an object has its own category.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class FieldsWarning(UserWarning):
    """A warning that is a data class: it is pickled by its fields."""

    def __reduce__(self) -> Any:
        return type(self), tuple(vars(self).values())


CANCELLED = ". Subtracting has cost these moments most of their digits: gather the rows that are left again"


@dataclass(eq=False)
class NotConverged(FieldsWarning, ConvergenceWarning):
    """A solver stopped before its certificate reached the tolerance.

    >>> print(NotConverged("AUCClassifier", 10, 0.0123))
    AUCClassifier stopped after 10 iterations with gap_ = 0.0123, above tol * F(0): raise max_iter, ...
    """

    estimator: str
    n_iter: int
    gap: float  # or `measure`, where that is another
    more_advice: str = ""
    measure: str = "gap_"

    def __str__(self) -> str:
        return (
            f"{self.estimator} stopped after {self.n_iter} iterations with {self.measure} = {self.gap:.3g}, above "
            f"tol * F(0): raise max_iter, standardise the features, or give a larger l2{self.more_advice}."
        )


@dataclass(eq=False)
class GridNotCertified(FieldsWarning, ConvergenceWarning):
    """Some points of a grid of penalties were not solved to the tolerance: `missed` of `total`.

    >>> print(GridNotCertified(2, 60))
    2 of 60 solutions of the grid were not certified to tol: raise max_iter, standardise the features, ...
    """

    missed: int
    total: int
    convex: bool = True  # else there are no certificates
    more_advice: str = ""

    def __str__(self) -> str:
        what = "were not certified" if self.convex else "are not stationary"
        return (
            f"{self.missed} of {self.total} solutions of the grid {what} to tol: raise max_iter, "
            f"standardise the features, or leave out the smallest l2{self.more_advice}."
        )


@dataclass(eq=False)
class GridEdge(FieldsWarning):
    """The best value of a parameter lies at an end of its grid and clearly beats its neighbour.

    `lead` is how much better its mean score is than its neighbour's, `error` the standard error of that mean, and
    `measure` says what the score is, where it is not the AUC.

    >>> print(GridEdge("l2", 0.1, "largest", lead=0.09, error=0.02))
    The best l2 is 0.1, the largest of the grid, and beats its neighbour by 0.09, ...: add larger values of l2.
    """

    parameter: str
    value: float
    end: str  # "smallest" or "largest"
    lead: float
    error: float
    measure: str = ""

    @property
    def beyond(self) -> str:
        """What values beyond the end of the grid are: "smaller" or "larger"."""
        return {"smallest": "smaller", "largest": "larger"}[self.end]

    @property
    def unit(self) -> str:
        """What `lead` is measured in, as it follows the number; nothing for the AUC."""
        return f" in {self.measure}" if self.measure else ""

    def __str__(self) -> str:
        return (
            f"The best {self.parameter} is {self.value:g}, the {self.end} of the grid, and beats its neighbour by "
            f"{self.lead:.2g}{self.unit}, more than one standard error ({self.error:.2g}): add {self.beyond} values of "
            f"{self.parameter}."
        )


@dataclass(eq=False)
class AllCoefficientsZero(FieldsWarning):
    """Every coefficient of the chosen model is 0; `l1` is the one that was chosen."""

    l1: float

    def __str__(self) -> str:
        if self.l1 == 0.0:
            return "All coefficients are 0: the classes have the same mean in every feature (or no feature varies)."
        return (
            f"All coefficients are 0 at the chosen l1 = {self.l1:g}: every l1 of the grid is too large, or no feature "
            "ranks the validation rows better than chance. Add smaller values of l1, if there is anything to find."
        )


@dataclass(eq=False)
class NothingAtTheTop(FieldsWarning):
    """Trained on the highest-scored negatives, all coefficients are 0: no score does better there than none.

    >>> print(NothingAtTheTop(0.05))
    With max_fpr=0.05 all coefficients are 0: no score of these features puts the positives clearly above ...
    """

    max_fpr: float

    def __str__(self) -> str:
        return (
            f"With max_fpr={self.max_fpr:g} all coefficients are 0: no score of these features puts the positives "
            "clearly above the negatives at the top. Use a larger max_fpr, more features, or loss='squared' and choose "
            "by the partial AUC (AUCClassifierCV)."
        )


@dataclass(eq=False)
class NoCorrection(FieldsWarning):
    """The cross-validated AUC could not be corrected for the choice."""

    def __str__(self) -> str:
        return (
            "corrected_score_ and corrected_interval_ are NaN: no fold holds out two rows of each class, so nothing "
            "shows how much its AUC varies. Use fewer folds."
        )


@dataclass(eq=False)
class RawColumns(FieldsWarning):
    """The columns have very different scales; the two names are those of the largest and smallest deviation.

    >>> print(RawColumns("income", "rate", 23_456.0))
    Columns have very different scales: the standard deviation of 'income' is about 20,000 times that of 'rate'. ...
    """

    largest: str
    smallest: str
    ratio: float

    def __str__(self) -> str:
        return (
            f"Columns have very different scales: the standard deviation of {self.largest!r} is about "
            f"{float(f'{self.ratio:.0e}'):,.0f} times that of {self.smallest!r}. The penalty l2 holds columns of small "
            "numbers back more than others, so the ranking may be poor, however well it is certified: standardise the "
            "columns first (sklearn.pipeline.make_pipeline(StandardScaler(), ...)), or use "
            "AUCClassifierCV(features='standardized'). Ignore this where the scales are meant, as those of principal "
            "components or of the features of a map are."
        )


SHOWN = 5  # columns that are named in one warning


@dataclass(eq=False)
class IntegersRounded(FieldsWarning):
    """Integers of these columns are beyond 2⁵³ and lose digits as 64-bit floats, in which everything is computed.

    >>> print(IntegersRounded(("account",)))
    Column 'account' holds integers beyond 2**53, which lose digits as 64-bit floats: leave it out if it ...
    """

    columns: tuple[Any, ...]

    @property
    def names(self) -> str:
        """The columns, the first few by name."""
        more = len(self.columns) - SHOWN
        return ", ".join(map(repr, self.columns[:SHOWN])) + (f" and {more} more" if more > 0 else "")

    def __str__(self) -> str:
        one = len(self.columns) == 1
        return (
            f"Column{'' if one else 's'} {self.names} {'holds' if one else 'hold'} integers beyond 2**53, which lose "
            f"digits as 64-bit floats: leave {'it' if one else 'them'} out if {'it names' if one else 'they name'} the "
            "rows, subtract a constant if the differences count, or make text of the numbers if they are categories."
        )


@dataclass(eq=False)
class CategoriesGrouped(FieldsWarning):
    """A column has more categories than a feature map takes: some are kept, the others count as one.

    >>> print(CategoriesGrouped("town", 999, 4001))
    Column 'town' has 5,000 categories: the 999 most frequent are kept, and the other 4,001 count as one, ...
    """

    column: str
    kept: int
    grouped: int

    @property
    def message(self) -> Message:
        """The text, with the parameter to raise."""
        return Message(
            "Column {column!r} has {total:,} categories: the {kept:,} most frequent are kept, and the other "
            "{grouped:,} count as one, as do new ones. Drop the column if it is a name, or raise {limit} to keep more.",
            column=self.column,
            total=self.kept + self.grouped,
            kept=self.kept,
            grouped=self.grouped,
            limit=Parameter("max_categories"),
        )

    def __str__(self) -> str:
        return str(self.message)


@dataclass(eq=False)
class TextRead(FieldsWarning):
    """The text of a column is read as numbers or dates.

    >>> print(TextRead("price", "numbers", "text that was read as numbers ('$5')"))
    Column 'price' holds text that was read as numbers ('$5'): make it categorical if its values are names.
    """

    column: Any
    kind: str  # "numbers" or "dates"
    remark: str

    def __str__(self) -> str:
        return f"Column {self.column!r} holds {self.remark}: make it categorical if its values are names."


@dataclass(eq=False)
class ColumnsLeftOut(FieldsWarning):
    """Columns that only name the rows have no features.

    >>> print(ColumnsLeftOut(("patient",)))
    Column 'patient' looks like an identifier and has no features: to use it, convert it to a categorical column.
    """

    columns: tuple[Any, ...]

    def __str__(self) -> str:
        more = len(self.columns) - SHOWN
        names = ", ".join(map(repr, self.columns[:SHOWN])) + (f" and {more} more" if more > 0 else "")
        if len(self.columns) == 1:
            return (
                f"Column {names} looks like an identifier and has no features: to use it, convert it to a categorical "
                "column."
            )
        return (
            f"Columns {names} look like identifiers and have no features: to use them, convert them to categorical "
            "columns."
        )


@dataclass(eq=False)
class UnseenValues(FieldsWarning):
    """New rows hold what training rows did not.

    >>> print(UnseenValues(("column 'town' has no value in any row, and had values in training",)))
    Compared with training: column 'town' has no value in any row, and had values in training.
    """

    sentences: tuple[str, ...]

    def __str__(self) -> str:
        more = len(self.sentences) - SHOWN
        shown = "; ".join(self.sentences[:SHOWN]) + (f"; and so {more} more" if more > 0 else "")
        return f"Compared with training: {shown}."
