"""Warnings of the estimators as classes with fields and a text, and `warn`, which points at the user's own line."""

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, dataclass_transform

from sklearn.exceptions import ConvergenceWarning

from vrspam._utils.findings import Fix, Note, parts_of


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this package and of the libraries that may call it for a user."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_passed_over(frame):
        level += 1
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)


_told_in_cross_validation: set[tuple[Any, ...]] = set()


def warn_once_in_cross_validation(message: Warning, about: tuple[Any, ...]) -> None:
    """Warn, but inside a cross-validation of scikit-learn only once for each line of the user, and what it is `about`.

    There each fold has its own model and its own new rows, so that each would say nearly the same.
    """
    inside = False
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_passed_over(frame):
        inside = inside or frame.f_globals["__name__"] == "sklearn.model_selection._validation"
        frame = frame.f_back
    if inside:
        key = (frame.f_code.co_filename, frame.f_lineno, type(message), about)
        if key in _told_in_cross_validation:
            return
        _told_in_cross_validation.add(key)
    warn(message)


def _is_passed_over(frame: Any) -> bool:
    """Whether a warning is not of a line of this frame: that of this package, or of a library that may call it."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in ("vrspam", "sklearn", "joblib")


@dataclass_transform(eq_default=False)
class WordedWarning(UserWarning):
    """A warning whose text is a `Note`; each subclass becomes a data class of what the text tells, and is pickled."""

    def __init_subclass__(cls) -> None:
        dataclass(eq=False)(cls)

    @property
    def note(self) -> Note:
        """The text."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.note)

    def __reduce__(self) -> Any:
        return type(self), tuple(vars(self).values())


CANCELLED = ". Subtracting has cost these moments most of their digits: compute them again from the rows that are left"
SHOWN = 5  # columns that are named in one sentence


def in_short(names: Sequence[Any], quoted: bool = True) -> str:
    """The first few of many names.

    >>> in_short("abcdefg")
    "'a', 'b', 'c', 'd', 'e' and 2 more"
    """
    shown = ", ".join(repr(name) if quoted else str(name) for name in names[:SHOWN])
    not_shown = len(names) - SHOWN
    return f"{shown} and {not_shown} more" if not_shown > 0 else shown


class NotConverged(WordedWarning, ConvergenceWarning):
    """A solver stopped before its certificate reached the tolerance."""

    estimator: str
    n_iter: int
    gap: float  # or `measure`, where that is another
    more_advice: str = ""
    measure: str = "gap_"

    @property
    def note(self) -> Note:
        return Note(
            f"{self.estimator} stopped after {self.n_iter} iterations with {self.measure} = {self.gap:.3g}, above "
            f"tol * F(0): raise max_iter, standardise the features, or give a larger l2{self.more_advice}."
        )


class GridNotCertified(WordedWarning, ConvergenceWarning):
    """Some points of a grid of penalties did not reach the tolerance: `missed` of `total`."""

    missed: int
    total: int
    has_gap: bool = True  # else there are no certificates
    more_advice: str = ""

    @property
    def note(self) -> Note:
        what = "were not certified" if self.has_gap else "are not stationary"
        return Note(
            f"{self.missed} of {self.total} solutions of the grid {what} to tol: raise max_iter, standardise the "
            f"features, or leave out the smallest l2{self.more_advice}."
        )


class GridEdge(WordedWarning):
    """The best value of a parameter lies at an end of its grid and clearly beats its neighbour.

    `lead` is how much better its mean score is than its neighbour's, `error` the standard error of that mean, and
    `measure` says what the score is, where it is not the AUC.
    """

    parameter: str
    value: float
    end: str  # "smallest" or "largest"
    lead: float
    error: float
    measure: str = ""

    @property
    def beyond(self) -> str:
        """The word for values beyond the end of the grid: "smaller" or "larger"."""
        return {"smallest": "smaller", "largest": "larger"}[self.end]

    @property
    def unit(self) -> str:
        """The unit of `lead`, to be written after the number; empty for the AUC."""
        return f" in {self.measure}" if self.measure else ""

    @property
    def note(self) -> Note:
        return Note(
            f"The best {self.parameter} is {self.value:g}, the {self.end} of the grid, and beats its neighbour by "
            f"{self.lead:.2g}{self.unit}, more than one standard error ({self.error:.2g}): add {self.beyond} values of "
            f"{self.parameter}."
        )


class AllCoefficientsZero(WordedWarning):
    """Every coefficient of the chosen model is 0; `l1` is the one that was chosen."""

    l1: float

    @property
    def note(self) -> Note:
        if self.l1 == 0.0:
            return Note(
                "All coefficients are 0: the classes have the same mean in every feature (or no feature varies)."
            )
        return Note(
            f"All coefficients are 0 at the chosen l1 = {self.l1:g}: every l1 of the grid is too large, or no feature "
            "ranks the validation rows better than chance. Add smaller values of l1, if there is anything to find."
        )


class NothingAtTheTop(WordedWarning):
    """All coefficients are 0, because no score ranks the positives above the highest-scored negatives."""

    max_fpr: float

    @property
    def note(self) -> Note:
        return Note(
            f"With max_fpr={self.max_fpr:g} all coefficients are 0: no score of these features puts the positives "
            "clearly above the negatives at the top. Use a larger max_fpr, more features, or loss='squared' and choose "
            "by the partial AUC (AUCClassifierCV)."
        )


class NoCorrection(WordedWarning):
    """The cross-validated AUC could not be corrected for the choice."""

    @property
    def note(self) -> Note:
        return Note(
            "The corrected AUC and its interval are NaN: no fold holds out two rows of each class, so nothing shows "
            "how much its AUC varies. Use fewer folds."
        )


class FewGroups(WordedWarning):
    """Too few groups for an interval."""

    groups: int

    @property
    def note(self) -> Note:
        return Note(
            f"The rows are of {self.groups} groups, too few to say how far off the AUC may be for new groups: an "
            "interval needs at least 6 groups, and 3 folds that hold out both classes."
        )


class FewerFolds(WordedWarning):
    """Groups that stay together could not be split into as many folds as asked for."""

    folds: int
    asked: int

    @property
    def note(self) -> Note:
        return Note(
            f"{self.folds} folds instead of {self.asked}: with more, a fold of whole groups would lack one of the "
            "classes."
        )


class StrataWithoutPairs(WordedWarning):
    """Strata without a pair of rows that counts, such as those of one class."""

    strata: int
    of: int
    rows: int

    @property
    def note(self) -> Note:
        return Note(f"{self.strata} of {self.of} strata have no pair to rank, and their {self.rows} rows are left out.")


class ScoredAcrossStrata(WordedWarning):
    """A model of pairs inside strata is scored on all pairs."""

    @property
    def note(self) -> Note:
        return Note(
            "This model was fitted on pairs inside strata, and score counts all pairs: give score the strata too."
        )


class RawColumns(WordedWarning):
    """The columns have very different scales; the two names are those of the largest and smallest deviation."""

    largest: str
    smallest: str
    ratio: float

    @property
    def note(self) -> Note:
        ratio = float(f"{self.ratio:.0e}")  # one digit
        return Note(
            f"Columns have very different scales: the standard deviation of {self.largest!r} is about {ratio:,.0f} "
            f"times that of {self.smallest!r}. The penalty l2 holds columns of small numbers back more than others, so "
            "the ranking may be poor, however well it is certified: standardise the columns first "
            "(sklearn.pipeline.make_pipeline(StandardScaler(), ...)), or use AUCClassifierCV(features='standardized'). "
            "Ignore this where the scales are meant, as those of principal components or of the features of a map are."
        )


class IntegersRounded(WordedWarning):
    """Integers of these columns are beyond 2⁵³ and lose digits as 64-bit floats, in which everything is computed."""

    columns: tuple[Any, ...]

    @property
    def note(self) -> Note:
        names = in_short(self.columns)
        if len(self.columns) == 1:
            return Note(
                f"Column {names} holds integers beyond 2**53, which lose digits as 64-bit floats: leave it out if it "
                "names the rows, subtract a constant if the differences count, or make text of the numbers if they are "
                "categories."
            )
        return Note(
            f"Columns {names} hold integers beyond 2**53, which lose digits as 64-bit floats: leave them out if they "
            "name the rows, subtract a constant if the differences count, or make text of the numbers if they are "
            "categories."
        )


class CategoriesGrouped(WordedWarning):
    """A column has more categories than a feature map takes: some are kept, the others count as one."""

    column: str
    kept: int
    grouped: int

    @property
    def note(self) -> Note:
        return Note(
            f"Column {self.column!r} has {self.kept + self.grouped:,} categories: the {self.kept:,} most frequent are "
            f"kept, and the other {self.grouped:,} count as one, as do new ones. Drop the column if it is a name, or "
            "raise ",
            Fix("max_categories"),
            " to keep more.",
        )


class NumbersAreNames(WordedWarning):
    """Trees take the numbers of a column as names: equal numbers have similar labels, near numbers do not."""

    column: Any
    different: int

    @property
    def note(self) -> Note:
        return Note(
            f"Column {self.column!r} holds {self.different:,} different numbers that are names: rows with equal "
            "numbers have similar labels, rows with near numbers do not. Scores use the training labels of each "
            "number, so a new number adds nothing. If new rows have new numbers, give the column as ",
            Fix("groups"),
            ", or drop it.",
        )


class TextRead(WordedWarning):
    """The text of a column is read as numbers, dates or times."""

    column: Any
    kind: str  # "numbers", "dates" or "times"
    remark: str

    @property
    def note(self) -> Note:
        return Note(f"Column {self.column!r} holds {self.remark}: make it categorical if its values are names.")


class ColumnsLeftOut(WordedWarning):
    """Columns that only name the rows are not used as features."""

    columns: tuple[Any, ...]

    @property
    def note(self) -> Note:
        names = in_short(self.columns)
        use_one = f"X[{self.columns[0]!r}].astype('category')"
        if len(self.columns) == 1:
            return Note(f"Column {names} looks like an identifier and is not used. To use it: {use_one}")
        return Note(f"Columns {names} look like identifiers and are not used. To use one: {use_one}")


class MapsLeftOut(WordedWarning):
    """Feature maps that cannot keep the directions of columns are not compared."""

    maps: tuple[str, ...]

    @property
    def note(self) -> Note:
        names = ", ".join(self.maps)
        return Note(f"These models cannot keep a score rising or falling with a column, and were left out: {names}.")


class MapsNotFitted(WordedWarning):
    """Feature maps that could not be fitted, with the reason of each, are not compared."""

    maps: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def note(self) -> Note:
        """The text, with the reason of the first."""
        names = ", ".join(self.maps)
        reason = self.reasons[0].rstrip(".")
        return Note(f"These models could not be fitted and were left out of the comparison: {names} ({reason}).")


class UnseenValues(WordedWarning):
    """New rows hold values that training rows did not hold."""

    sentences: tuple[str, ...]

    @property
    def note(self) -> Note:
        """The text, with the first few sentences."""
        parts: list[str | Fix] = ["Compared with training: "]
        for place, sentence in enumerate(self.sentences[:SHOWN]):
            if place > 0:
                parts.append("; ")
            parts += parts_of(sentence)
        not_shown = len(self.sentences) - SHOWN
        parts.append(f"; and {not_shown} more." if not_shown > 0 else ".")
        return Note(*parts)
