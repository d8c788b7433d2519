"""The options of `train` and `make_report`, in Python and on the command line: each is declared here.

A field of a plan is a keyword in Python and an option of the command line. Both show its help; its check runs when a
plan is made, before any file is read, and says the same in both. docs/add_an_option.md shows how to add an option.

Help pages are made from this module, so it imports nothing that takes time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, Literal, Self, TypedDict

from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.names import INDEPENDENT, LossName, PenaltyName, Selection
from vrspam.tool.conflicts import refuse_conflicts, refuse_conflicts_of_page, refuse_weighted_part
from vrspam.tool.options import (
    CHARACTER,
    CODES,
    COLUMN,
    COLUMNS,
    DATA,
    DIRECTIONS,
    FEATURES,
    FILE,
    FOLDS,
    FORMAT,
    LABEL,
    MODEL,
    ORDERS,
    PAGE,
    PENALTIES,
    RATIO,
    SHARE,
    SHARE_OR_ALL,
    THRESHOLD,
    Check,
    Option,
    at_least,
    finite_number,
    must,
    option,
    option_of_field,
    share,
    with_options,
)


def _silent(stage: str) -> None:
    """Say nothing; a function with a name, so that plans can be pickled."""


@dataclass(frozen=True)
class TrainPlan:
    """The options of `vrspam.tool.train`, checked.

    Attributes
    ----------
    {options}

    Examples
    --------
    >>> from vrspam.tool import TrainPlan
    >>> TrainPlan("sick", features="additive").n_splits
    5
    >>> TrainPlan("sick", n_splits=1)
    Traceback (most recent call last):
    vrspam._utils.findings.VrspamError: n_splits=1 must be at least 2
    """

    target: str | None = option(None, DATA, "The column that holds the labels (not for LIBSVM).", COLUMN)
    positive: str | None = option(
        None, DATA, "The label to rank above all others; by default the larger of two.", LABEL
    )
    event: str | None = option(
        None,
        DATA,
        "The column that says which rows had their event (1, or the label to look for); the target then holds times. "
        "none: the target holds grades, amounts or dates, and larger ones rank higher.",
        COLUMN,
        details="Rows without their event are censored: it comes later, or never.",
    )
    within: str | None = option(
        None,
        DATA,
        "A column of queries, matched sets or sites: only rows of the same one are compared, and folds keep them "
        "together.",
        COLUMN,
    )
    drop: Sequence[str] = option(
        (), DATA, "Columns to leave out.", COLUMNS._replace(how='Commas separate names, as in age,"height, cm".')
    )
    include: Sequence[str] = option((), DATA, "Columns to keep although they look like identifiers.", COLUMNS)
    categorical: Sequence[str] = option((), DATA, "Columns of numbers to treat as categories.", COLUMNS)
    max_categories: int = option(
        1000, DATA, "Largest number of categories of a text column: rarer ones count as one.", check=at_least(2)
    )
    ordered: Any = option(
        None, DATA, "Categories of a column from low to high, so that it can have a direction; once for each.", ORDERS
    )
    dates: Literal["features", "drop"] = option(
        "features", DATA, "features: dates become a position in time, month, weekday, hour; drop: they are left out."
    )
    ignore: Sequence[str] = option(
        (), DATA, "Codes of findings about the table to mute, such as order (docs/doctor.md).", CODES
    )
    weights: str | None = option(None, DATA, "A column of weights: how much each row counts.", COLUMN)
    features: Any = option(
        None,
        MODEL,
        "linear: straight lines; additive: a curve for each column; kernel: curves and interactions; trees: random "
        "trees; forest, boosted: trees that learn from labels; auto: a blend of all. By default auto, but linear for "
        "a stream or with an l1 penalty, and straight lines, forest and boosted alone for more than 1,000 features.",
        FEATURES,
    )
    l1: str | Sequence[float] = option(
        (0.0,),
        MODEL,
        "Candidates for the penalty that leaves features out; auto tries six.",
        PENALTIES,
        details="They are for standardised features.",
    )
    penalty: PenaltyName = option(
        "elasticnet",
        MODEL,
        "elasticnet, or mcp or scad, which leave features out without shrinking the others and need l1 above 0.",
        details="See docs/penalties.md.",
    )
    loss: LossName = option(
        "squared",
        MODEL,
        "What a pair of rows costs: squared, or squared_hinge, which ignores pairs ranked right by more than the "
        "margin (not for a stream).",
    )
    monotone: Any = option(
        None,
        MODEL,
        "Columns with which the score must rise (1) or fall (-1), whatever the others are; the AUC without directions "
        "is reported too.",
        DIRECTIONS,
    )
    max_fpr: float | None = option(
        None,
        MODEL,
        "The part of the ROC curve that matters: up to this false-positive rate.",
        SHARE_OR_ALL,
        details="The model is chosen by the AUC of this part, which is recorded beside the AUC.",
    )
    calibration: Literal["sigmoid", "isotonic", "none"] = option(
        "sigmoid", MODEL, "How scores become probabilities: sigmoid, isotonic (for thousands of rows) or none."
    )
    private: bool = option(
        False,
        MODEL,
        "Hold no row of the table in the model file: interactions then rank a little worse.",
        details="Landmarks of kernels are drawn column by column, and there is no fingerprint.",
        only="train",
    )
    fingerprint: bool = option(
        True,
        MODEL,
        "Keep hashes of at most 1,000 training rows in the model, by which evaluate knows the training file.",
        flags=("--no-fingerprint",),
        details="They are salted.",
        only="train",
    )
    n_splits: int = option(5, FOLDS, "Number of folds of the cross-validation.", check=at_least(2), flags=("--folds",))
    groups: str | None = option(
        None,
        FOLDS,
        "A column of groups that folds keep together, such as patients (or two columns that name them together, with a "
        "comma); duplicates: copies of a row; none: rows are independent. By default groups are looked for.",
        COLUMN,
    )
    time: str | None = option(
        None, FOLDS, "A column of times: each fold trains on earlier rows and tests on later ones.", COLUMN
    )
    selection: Selection = option(
        "auto",
        FOLDS,
        "What the folds decide: best, one-standard-error (the simplest model that is about as good), blend, or "
        "auto: a blend of several kinds of features, else the best.",
    )
    n_jobs: int | None = option(
        None,
        FOLDS,
        "Folds computed at the same time; -1: one on each core. By default one on each core that memory allows, "
        "but one by one up to 5,000 rows and beyond 1,000 features.",
        check=must(lambda value: value >= 1 or value == -1, "must be at least 1, or -1 for one on each core"),
        flags=("--jobs",),
    )
    random_state: int = option(0, FOLDS, "Seed that draws the folds.", check=at_least(0), flags=("--seed",))
    recall: float | None = option(
        None,
        THRESHOLD,
        "Store the threshold that finds at least this share of the positives, of new rows too, with 95 % confidence.",
        SHARE_OR_ALL,
        details="A note tells if positives are too few for that. Only one of these five options may be given; "
        "`predict`, `evaluate` and exports use the threshold.",
    )
    precision: float | None = option(
        None,
        THRESHOLD,
        "Store the lowest threshold above which at least this share of the rows is positive, with 95 % confidence.",
        SHARE_OR_ALL,
    )
    alerts: float | None = option(
        None,
        THRESHOLD,
        "Store the threshold that calls at most this share of the rows positive, with 95 % confidence.",
        SHARE,
    )
    cost_ratio: float | None = option(
        None,
        THRESHOLD,
        "How many false alarms are as bad as one missed positive; gives the threshold of least cost.",
        RATIO,
        flags=("--cost-ratio", "--cost"),
    )
    threshold: float | None = option(None, THRESHOLD, "Store this score as the threshold.", check=finite_number)
    streaming: bool = option(False, FILE, "For files larger than memory: read in blocks, several times.")
    format: str | None = option(
        None, FILE, "Such as csv or parquet; by default told from the name, else from the first bytes.", FORMAT
    )
    delimiter: str | None = option(
        None,
        FILE,
        "What separates the fields of CSV: one character, or tab; by default found in the header line.",
        CHARACTER,
    )
    encoding: str | None = option(
        None, FILE, "Encoding of CSV: utf-8, windows-1252, latin-1, utf-16 or another; by default told from the bytes."
    )
    zero_based: bool | None = option(
        None,
        FILE,
        "Where indices of LIBSVM start; by default at 1, or as in training.",
        flags=("--zero-based/--one-based",),
    )
    skip_errors: bool = option(False, FILE, "Leave out broken lines, and say how many.")
    progress: bool = option(False, None, "Show a progress line.")
    say: Callable[[str], None] = option(_silent, None, "Is called with each stage as it begins.")

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not each.default:
                check_option(each.name, value)
        refuse_conflicts(self)

    @property
    def pairs(self) -> dict[str, str | None]:
        """The columns that say which pairs count, as a model keeps them."""
        columns: dict[str, str | None] = {}
        if self.event == INDEPENDENT:
            columns["order"] = self.target
        elif self.event is not None:
            columns["event"] = self.event
            columns["times"] = self.target
        if self.within is not None:
            columns["within"] = self.within
        return columns

    @classmethod
    def of(cls, target: str | None, positive: str | None, plan: "TrainPlan | None", options: Mapping[str, Any]) -> Self:
        """Make a plan from the arguments of a function; those that are not given are taken from another plan."""
        names = [each.name for each in fields(cls)]
        for name in options:
            if name not in names:
                near = get_close_matches(name, names, 1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise TypeError(f"there is no option {name!r}{hint}; there are {', '.join(names)}")

        values: dict[str, Any] = {}
        if plan is not None:
            values.update({each.name: getattr(plan, each.name) for each in fields(plan)})
        if target is not None:
            values["target"] = target
        if positive is not None:
            values["positive"] = positive
        values.update(options)
        return cls(**values)


@dataclass(frozen=True)
class ReportPlan(TrainPlan):
    """The options of `vrspam.tool.make_report`, checked."""

    by: Sequence[str] = option(
        (),
        PAGE,
        "Columns whose levels the report looks at one by one.",
        COLUMNS._replace(how="Commas separate them: sex,clinic."),
    )
    beside: Sequence[str] = option(
        (),
        PAGE,
        "Columns of out-of-fold scores of other models, to be compared with this one; they are not used as features.",
        COLUMNS,
    )
    rows: int = option(
        10,
        PAGE,
        "Number of rows to explain, besides the highest, the lowest and the most wrong; 0: no rows at all.",
        check=at_least(0),
    )
    holdout: float | None = option(
        None,
        FOLDS,
        "Keep this share of the rows out of the training, and score only these; by default the folds score all rows.",
        SHARE,
        only="report",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_conflicts_of_page(self)


OPTIONS: dict[str, Option] = {each.name: option_of_field(each) for each in fields(ReportPlan)}


# Keywords of functions, for editors and type checkers; `target` and `positive` are parameters of their own.


class TableOptions(TypedDict, total=False):
    """The options of all functions that read a table with labels."""

    drop: Sequence[str]
    include: Sequence[str]
    categorical: Sequence[str]
    max_categories: int
    dates: Literal["features", "drop"]
    ignore: Sequence[str]
    groups: str | None
    random_state: int
    format: str | None
    delimiter: str | None
    encoding: str | None
    zero_based: bool | None
    skip_errors: bool


class CheckOptions(TableOptions, total=False):
    """The options of `check`."""

    event: str | None
    time: str | None
    streaming: bool


class RowsOptions(TableOptions, total=False):
    """The options of `rows`, beside those that it declares itself."""

    weights: str | None


class TrainOptions(CheckOptions, RowsOptions, total=False):
    """The options of `train`."""

    within: str | None
    ordered: Any
    features: Any
    l1: str | Sequence[float]
    penalty: PenaltyName
    loss: LossName
    monotone: Any
    max_fpr: float | None
    calibration: Literal["sigmoid", "isotonic", "none"]
    private: bool
    fingerprint: bool
    n_splits: int
    selection: Selection
    n_jobs: int | None
    recall: float | None
    precision: float | None
    alerts: float | None
    cost_ratio: float | None
    threshold: float | None
    progress: bool
    say: Callable[[str], None]


class ReportOptions(TrainOptions, total=False):
    """The options of `make_report`."""

    by: Sequence[str]
    beside: Sequence[str]
    rows: int
    holdout: float | None


def names_of_options(keywords: Any) -> list[str]:
    """The names of the options of a function with these keywords, in the order of the plan."""
    return [name for name in OPTIONS if name in ("target", "positive") or name in keywords.__annotations__]


def options_of(command: str, keywords: Any = ReportOptions) -> list[str]:
    """The names of the options of a command, whose function has these keywords."""
    options = [OPTIONS[name] for name in names_of_options(keywords)]
    return [each.name for each in options if each.panel is not None and each.only in (None, command)]


def check_option(name: str, value: Any, check: Check | None = None) -> None:
    """Refuse a value that fails `check`, by default the check of its option."""
    wrong = (check or OPTIONS[name].check)(value)
    if wrong:
        raise VrspamError(Fix(name, value), f" {wrong}")


def check_measures(weights: Any = None, *, confidence: float | None = None, **limits: float | None) -> None:
    """Refuse a wrong confidence, recall, cost_ratio or max_fpr, and max_fpr together with weights of rows."""
    check_option("confidence", confidence, share)
    for name, value in limits.items():
        check_option(name, value)
    refuse_weighted_part(limits.get("max_fpr"), weights)


TrainPlan.__doc__ = with_options(TrainPlan.__doc__, (OPTIONS[each.name] for each in fields(TrainPlan)))
