"""The options of `train` and `make_report`, in Python and on the command line: each is declared here, once.

A field of a plan is a keyword in Python and an option of the command line. Both show its help; its check runs when a
plan is made, before any file is read, and says the same in both. docs/add_an_option.md shows how to add an option.

Help pages are made from this module, so it imports nothing that takes time.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from textwrap import wrap
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args, get_origin

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.names import INDEPENDENT, THRESHOLD_RULES, USUAL_PENALTY, LossName, PenaltyName, Selection

NO_ROW = "there is no row {}: rows are counted from 1, the first row of the data"
PANELS = DATA, MODEL, FOLDS, THRESHOLD, PAGE, FILE = ("Data", "Model", "Folds", "Threshold", "Page", "File format")
Thing = TypeVar("Thing", bound=Callable[..., Any])


class Option(NamedTuple):
    """How a field of a plan is shown and checked.

    `panel` is the option's place in the help of the commands; None means that only Python has it. Names of options in
    braces are shown in `help` as the reader types them; `typed` is added on the command line, `in_python` in Python.
    `check` returns what is wrong with a value ("must be at least 2"), or None; `read` turns typed text into a value.
    `metavar` is the type shown on the command line, `kind` the one shown in Python. `only` names the single command
    that has the option; `differs` has fields that differ for a command. With `several` the value is a dict, and the
    option may be typed more than once. `type`, `default` and `flag` (as it is typed) follow from the field.
    """

    panel: str | None
    help: str
    typed: str = ""
    in_python: str = ""
    check: Callable[[Any], str | None] = lambda value: None
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    kind: str | None = None
    read: Callable[[str], Any] = lambda text: text
    only: str | None = None
    differs: Mapping[str, Mapping[str, Any]] = {}
    several: bool = False
    type: Any = None
    default: Any = None
    flag: str = ""

    def of(self, command: str) -> "Option":
        """The option as a command, or the function of its name, has it."""
        return self._replace(**self.differs.get(command, {}))


def read_names(text: str) -> tuple[str, ...]:
    """Names as in a line of a CSV file.

    >>> read_names('age, "cholesterol, mg/dl"')
    ('age', 'cholesterol, mg/dl')
    """
    import csv

    found = tuple(name for name in next(csv.reader([text], skipinitialspace=True), []) if name)
    if not found:
        raise WordedError("give at least one name")
    return found


def read_directions(text: str) -> Any:
    """Read columns with their directions; other text is returned as it is, and the check refuses it.

    >>> read_directions('income=-1,"age, years"=1'), read_directions("income")
    ({'income': -1, 'age, years': 1}, 'income')
    """
    parts = [part.strip().rpartition("=") for part in re.findall(r'(?:"[^"]*"|[^,"])+', text)]
    known = {"-1": -1, "0": 0, "1": 1, "+1": 1}
    if not parts or not all(name and value.strip() in known for name, _, value in parts):
        return text
    return {name.strip().strip('"'): known[value.strip()] for name, _, value in parts}


def read_order(text: str) -> Any:
    """Read the categories of a column in their order; other text is returned as it is, and the check refuses it.

    >>> read_order("size=small,medium,large"), read_order("size")
    ({'size': ('small', 'medium', 'large')}, 'size')
    """
    name, _, values = text.partition("=")
    return {name.strip(): read_names(values)} if name.strip() and values.strip() else text


def read_numbers(text: str) -> Any:
    """Read numbers separated by commas; other text is returned as it is, and the check refuses all but "auto".

    >>> read_numbers("0,0.1"), read_numbers(" auto"), read_numbers("some")
    ((0.0, 0.1), 'auto', 'some')
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return text.strip()


def must(holds: Callable[[Any], bool], words: str) -> Callable[[Any], str | None]:
    """Make a check that returns `words` for a value that is not None and for which `holds` is false."""
    return lambda value: None if value is None or holds(value) else words


def at_least(least: int) -> Callable[[Any], str | None]:
    """Make a check that a number is at least this."""
    return must(lambda value: value >= least, f"must be at least {least}")


directions = must(
    lambda value: isinstance(value, dict) and all(sign in (-1, 0, 1) for sign in value.values()),
    "must name columns with -1 (the score falls), 0 or 1 (it rises), as in income=-1,age=1",
)
orders = must(
    lambda value: isinstance(value, dict) and all(len(set(names)) == len(names) > 1 for names in value.values()),
    "must name a column and its categories from low to high, as in size=small,medium,large",
)
share = must(lambda value: 0.0 < value < 1.0, "must be between 0 and 1")
share_or_all = must(lambda value: 0.0 < value <= 1.0, "must be above 0 and at most 1")
one_or_more = at_least(1)
positive_number = must(lambda value: 0.0 < value < float("inf"), "must be a positive number")


def needs_l1(penalty: str) -> bool:
    """Whether l1 is the strength of a penalty, so that it cannot be 0."""
    if penalty == USUAL_PENALTY:
        return False
    from vrspam.penalties.family import PENALTIES  # NumPy is loaded only when it is needed

    return PENALTIES[penalty].needs_l1


def _l1(value: Any) -> str | None:
    if isinstance(value, str):
        return None if value == "auto" else "is neither 'auto' nor numbers"
    if not isinstance(value, Iterable):
        return "must be 'auto' or a sequence of numbers"
    return None if all(0.0 <= number < float("inf") for number in value) else "must not be negative or infinite"


def _codes(value: Any) -> str | None:
    if isinstance(value, str):
        return "must be codes, not one text"
    if not value:
        return None
    from vrspam.checks.diagnose import all_codes  # here, because it imports all that checks need

    codes = all_codes()
    return None if all(code in codes for code in value) else f"is not known; give some of {', '.join(codes)}"


def _features(value: Any) -> str | None:
    usual = ("linear", "additive", "kernel", "trees", "forest", "boosted", "auto")
    if value is None or (isinstance(value, str) and value in usual):
        return None
    if isinstance(value, str):
        from vrspam.features.names import NAMES, SINGLE_NAMES  # single maps, such as "kernel 1"

        return None if value in NAMES + SINGLE_NAMES else f"is not known; give {in_words(usual)}"
    from vrspam.features import FeatureMap

    known = isinstance(value, FeatureMap)
    return None if known else "cannot be held by a model file: give a name, or a map of vrspam.features"


def _format(value: str | None) -> str | None:
    if value is None:
        return None
    from vrspam.data.readers import READERS

    return None if value in READERS else f"is not known; give {in_words(READERS)}"


def _silent(stage: str) -> None:
    """Say nothing; a function with a name, so that plans can be pickled."""


def option(default: Any, panel: str | None, help: str, **more: Any) -> Any:
    """Declare a field of a plan, with its default and the fields of its `Option`."""
    return field(default=default, metadata={"option": Option(panel, help, **more)})


def columns(panel: str, help: str, typed: str = "") -> Any:
    """An option that names columns."""
    return option(
        (),
        panel,
        help,
        typed=typed,
        check=must(lambda value: not isinstance(value, str), "must be names of columns, not one text"),
        read=read_names,
        metavar="<names>",
        kind="sequence of str",
    )


def in_words(names: Any) -> str:
    """Names as a choice in a sentence.

    >>> in_words(["a", "b", "c"])
    'a, b or c'
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


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
    vrspam._utils.messages.WordedError: n_splits=1 must be at least 2
    """

    target: str | None = option(None, DATA, "The column that holds the labels (not for LIBSVM).", metavar="<column>")
    positive: str | None = option(
        None, DATA, "The label to rank above all others; by default the larger of two.", metavar="<label>"
    )
    event: str | None = option(
        None,
        DATA,
        "The column that says which rows had their event (1, or what {positive} names); {target} then holds times. "
        "none: {target} holds grades, amounts or dates, and larger ones rank higher.",
        in_python="Rows without their event are censored: it comes later, or never.",
        metavar="<column>",
    )
    within: str | None = option(
        None,
        DATA,
        "A column of queries, matched sets or sites: only rows of the same one are compared, and folds keep them "
        "together.",
        metavar="<column>",
    )
    drop: Sequence[str] = columns(DATA, "Columns to leave out.", 'Commas separate names, as in age,"height, cm".')
    include: Sequence[str] = columns(DATA, "Columns to keep although they look like identifiers.")
    categorical: Sequence[str] = columns(DATA, "Columns of numbers to treat as categories.")
    max_categories: int = option(
        1000, DATA, "Largest number of categories of a text column: rarer ones count as one.", check=at_least(2)
    )
    ordered: Any = option(
        None,
        DATA,
        "Categories of a column in their order, from low to high, for {monotone}; once for each column.",
        typed="As in size=small,medium,large.",
        check=orders,
        read=read_order,
        metavar="<column=names>",
        kind="dict of column to sequence of str",
        several=True,
    )
    dates: Literal["features", "drop"] = option(
        "features", DATA, "features: dates become a position in time, month, weekday, hour; drop: they are left out."
    )
    ignore: Sequence[str] = option(
        (),
        DATA,
        "Codes of findings about the table to mute, such as order (docs/doctor.md).",
        typed="Commas separate them.",
        check=_codes,
        read=read_names,
        metavar="<codes>",
        kind="sequence of str",
    )
    weights: str | None = option(None, DATA, "A column of weights: how much each row counts.", metavar="<column>")
    features: Any = option(
        None,
        MODEL,
        "linear: straight lines; additive: a curve for each column; kernel: curves and interactions; trees: random "
        "trees; forest, boosted: trees that learn from labels; auto: a blend of all. By default auto, but linear with "
        "{streaming} or {l1}, and straight lines, forest and boosted alone for more than 1,000 features.",
        check=_features,
        kind='{"linear", "additive", "kernel", "trees", "forest", "boosted", "auto"} or a map of `vrspam.features`',
        differs={
            "rows": {
                "help": "additive: smooth curves; linear: straight lines. By default additive.",
                "kind": '{"additive", "linear"}',
            }
        },
    )
    l1: str | Sequence[float] = option(
        (0.0,),
        MODEL,
        "Candidates for the penalty that leaves features out; auto tries six.",
        typed="Commas separate numbers.",
        in_python="They are for standardised features.",
        check=_l1,
        read=read_numbers,
        metavar="<numbers>",
        kind='"auto" or sequence of numbers',
    )
    penalty: PenaltyName = option(
        "elasticnet",
        MODEL,
        "elasticnet, or mcp or scad, which leave features out without shrinking the others and need {l1} above 0.",
        in_python="See docs/penalties.md.",
    )
    loss: LossName = option(
        "squared",
        MODEL,
        "What a pair of rows costs: squared, or squared_hinge, which ignores pairs ranked right by more than the "
        "margin (not with {streaming}).",
    )
    monotone: Any = option(
        None,
        MODEL,
        "Columns with which the score must rise (1) or fall (-1), whatever the others are; the AUC without directions "
        "is reported too.",
        typed="As in income=-1,age=1.",
        check=directions,
        read=read_directions,
        metavar="<directions>",
        kind="dict of column to -1, 0 or 1",
    )
    max_fpr: float | None = option(
        None,
        MODEL,
        "The part of the ROC curve that matters: up to this false-positive rate.",
        in_python="The model is chosen by the AUC of this part, which is recorded beside the AUC.",
        check=share_or_all,
    )
    calibration: Literal["sigmoid", "isotonic", "none"] = option(
        "sigmoid", MODEL, "How scores become probabilities: sigmoid, isotonic (for thousands of rows) or none."
    )
    private: bool = option(
        False,
        MODEL,
        "Hold no row of the table in the model file: interactions then rank a little worse.",
        in_python="Landmarks of kernels are drawn column by column, and there is no fingerprint.",
        only="train",
    )
    fingerprint: bool = option(
        True,
        MODEL,
        "Keep hashes of at most 1,000 training rows in the model, by which evaluate knows the training file.",
        in_python="They are salted.",
        flags=("--no-fingerprint",),
        only="train",
    )
    n_splits: int = option(5, FOLDS, "Number of folds of the cross-validation.", check=at_least(2), flags=("--folds",))
    groups: str | None = option(
        None,
        FOLDS,
        "A column of groups that folds keep together, such as patients (or two columns that name them together, with a "
        "comma); duplicates: copies of a row; none: rows are independent. By default groups are looked for.",
        metavar="<column>",
    )
    time: str | None = option(
        None, FOLDS, "A column of times: each fold trains on earlier rows and tests on later ones.", metavar="<column>"
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
        in_python="A note tells if positives are too few for that. Only one of these five options may be given; "
        "`predict`, `evaluate` and exports use the threshold.",
        check=share_or_all,
    )
    precision: float | None = option(
        None,
        THRESHOLD,
        "Store the lowest threshold above which at least this share of the rows is positive, with 95 % confidence.",
        check=share_or_all,
    )
    alerts: float | None = option(
        None,
        THRESHOLD,
        "Store the threshold that calls at most this share of the rows positive, with 95 % confidence.",
        check=share,
    )
    cost_ratio: float | None = option(
        None,
        THRESHOLD,
        "How many false alarms are as bad as one missed positive; gives the threshold of least cost.",
        check=positive_number,
        flags=("--cost-ratio", "--cost"),
        metavar="<ratio>",
    )
    threshold: float | None = option(
        None,
        THRESHOLD,
        "Store this score as the threshold.",
        check=must(lambda value: abs(value) < float("inf"), "must be finite"),
    )
    streaming: bool = option(False, FILE, "For files larger than memory: read in blocks, several times.")
    format: str | None = option(
        None, FILE, "Such as csv or parquet; by default told from the name, else from the first bytes.", check=_format
    )
    delimiter: str | None = option(
        None,
        FILE,
        "What separates the fields of CSV: one character, or tab; by default found in the header line.",
        check=must(lambda value: len(value.encode()) == 1, "is neither one ASCII character nor tab"),
        read=lambda text: {"tab": "\t", "\\t": "\t"}.get(text, text),
        metavar="<char>",
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
    say: Callable[[str], None] = option(_silent, None, "Is called with each stage as it begins.", kind="callable")

    def __post_init__(self) -> None:
        for one in fields(self):
            if (value := getattr(self, one.name)) is not one.default:
                check_option(one.name, value)
        if not isinstance(self.l1, str) and any(value <= 0.0 for value in self.l1) and needs_l1(self.penalty):
            words = "{penalty} needs positive numbers for l1, its strength: give {l1}, or numbers above 0"
            raise error_about(words, penalty=self.penalty, l1="auto")
        if self.streaming and self.features not in (None, "linear"):
            words = "{streaming} trains straight lines only: leave {features} out"
            raise error_about(words, streaming=True, features=None)
        kept = None if self.groups == INDEPENDENT else self.groups
        if kept and self.time:
            raise conflict("time-ordered folds would split groups", time=None, groups=None)
        if self.streaming and self.loss != "squared":
            raise conflict("this loss needs all rows in memory", streaming=True, loss=self.loss)
        for name, column in (("groups", kept), ("time", self.time)):
            if self.streaming and column:
                raise conflict("a stream draws its folds from the rows alone", streaming=True, **{name: None})
        if self.streaming and self.ordered:
            raise conflict("an order of categories needs all rows in memory", streaming=True, ordered=None)
        if self.max_fpr is not None:
            check_measures(self.weights, max_fpr=self.max_fpr)
        if self.time and self.within:
            raise conflict("time-ordered folds would split what is compared", time=None, within=None)
        rules = [name for name in ("max_fpr", *THRESHOLD_RULES) if getattr(self, name) is not None]
        for name in (name for name in ("event", "within") if getattr(self, name) is not None):
            if self.streaming:
                raise conflict("pairs of rows need all rows in memory", streaming=True, **{name: None})
            if rules:
                raise conflict("a score that only ranks has no threshold or ROC curve", **{rules[0]: None, name: None})
        if self.event == INDEPENDENT and self.positive is not None:
            raise conflict("an order has no label to look for", event=INDEPENDENT, positive=None)
        if self.event is not None and self.target is None:
            raise error_about("{event} needs a column of times: name it with {target}", event=None, target=None)
        given = {name: None for name in THRESHOLD_RULES if getattr(self, name) is not None}
        if len(given) > 1:
            raise conflict("a model stores one threshold", **given)

    @property
    def pairs(self) -> dict[str, str | None]:
        """The columns that say which pairs count, as a model keeps them."""
        found: dict[str, str | None] = {}
        if self.event == INDEPENDENT:
            found = {"order": self.target}
        elif self.event is not None:
            found = {"event": self.event, "times": self.target}
        return found if self.within is None else {**found, "within": self.within}

    @classmethod
    def of(cls, target: str | None, positive: str | None, plan: "TrainPlan | None", given: dict[str, Any]) -> Self:
        """Make a plan from the arguments of a function; those that are not given are taken from another plan."""
        known = {} if plan is None else {one.name: getattr(plan, one.name) for one in fields(plan)}
        named = {name: value for name, value in (("target", target), ("positive", positive)) if value is not None}
        options = [one.name for one in fields(cls)]
        for name in given:
            if name not in options:
                from difflib import get_close_matches

                near = get_close_matches(name, options, 1)
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                raise TypeError(f"there is no option {name!r}{hint}; there are {', '.join(options)}")
        return cls(**{**known, **named, **given})


@dataclass(frozen=True)
class ReportPlan(TrainPlan):
    """The options of `vrspam.tool.make_report`, checked."""

    by: Sequence[str] = columns(
        PAGE, "Columns whose levels the report looks at one by one.", "Commas separate them: sex,clinic."
    )
    beside: Sequence[str] = columns(
        PAGE,
        "Columns of out-of-fold scores of other models, to be compared with this one; they are not used as features.",
        "Commas separate them.",
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
        check=share,
        only="report",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("holdout", "beside"):
            if self.streaming and getattr(self, name):
                raise conflict("a stream holds no rows in memory", streaming=True, **{name: None})
        for name in ("target", "event", "weights", "groups", "time", "within"):
            if self.beside and getattr(self, name) in self.beside:
                words = "{beside} and {other} name the same column: name it once"
                raise WordedError(words, beside=Parameter("beside"), other=Parameter(name, getattr(self, name)))


def error_about(words: str, **parameters: Any) -> WordedError:
    """An error whose words name parameters, each with the value that matters, or None."""
    return WordedError(words, **{name: Parameter(name, value) for name, value in parameters.items()})


def conflict(why: str, **parameters: Any) -> WordedError:
    """The error that options cannot be combined."""
    return error_about(f"{' and '.join(f'{{{name}}}' for name in parameters)} cannot be combined: {why}", **parameters)


def check_option(name: str, value: Any, check: Callable[[Any], str | None] | None = None) -> None:
    """Refuse a value that fails `check`, by default the check of its option."""
    if wrong := (check or OPTIONS[name].check)(value):
        raise WordedError(f"{{given}} {wrong}", given=Parameter(name, value))


def check_measures(weights: Any = None, **given: float | None) -> None:
    """Refuse a wrong confidence, recall, cost_ratio or max_fpr, and max_fpr together with weights of rows."""
    for name, value in given.items():
        check_option(name, value, share if name == "confidence" else None)
    if weights is not None and str(weights) != INDEPENDENT and given.get("max_fpr") is not None:
        raise conflict("the interval of a partial AUC is for rows of equal weight", max_fpr=None, weights=None)


def _completed(one: "Field[Any]") -> Option:
    """An option with what follows from its field: type, default, flag, and choices as a check."""
    shown: Option = one.metadata["option"]
    if get_origin(one.type) is Literal:
        choices = get_args(one.type)
        shown = shown._replace(
            check=lambda value: None if value in choices else f"is not known; give {in_words(choices)}"
        )
    flag = shown.flags[0].partition("/")[0] if shown.flags else f"--{one.name.replace('_', '-')}"
    return shown._replace(type=one.type, default=one.default, flag=flag)


OPTIONS = {one.name: _completed(one) for one in fields(ReportPlan)}
CHECKED = (
    *("target", "positive", "event", "drop", "include", "categorical", "max_categories", "dates", "ignore", "groups"),
    *("time", "random_state", "streaming", "format", "delimiter", "encoding", "zero_based", "skip_errors"),
)
ROWS = ("weights", "features", *(name for name in CHECKED if name not in ("event", "time", "streaming")))


def options_of(command: str) -> list[str]:
    """The names of the fields that `train` or `report` has as options."""
    return [name for name, one in OPTIONS.items() if one.panel is not None and one.only in (None, command)]


def takes(plan: type[TrainPlan], names: Sequence[str] = ()) -> Callable[[Thing], Thing]:
    """A decorator for a function with `**options`: its signature and docstring list the options of a plan, or some."""

    def decorate(function: Thing) -> Thing:
        signature = inspect.signature(function)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        options = [
            inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type)
            for one in fields(plan)
            if one.name not in signature.parameters and (not names or one.name in names)
        ]
        places = sorted([*own, *options], key=lambda one: one.kind)
        function.__signature__ = signature.replace(parameters=places)  # type: ignore[attr-defined]
        return documented(plan, function, names)

    return decorate


def documented(plan: type[TrainPlan], thing: Thing, names: Sequence[str] = ()) -> Thing:
    """Put all options, or those in `names`, in the place of {options} in the docstring; return the thing."""
    lines = []
    for name in (one.name for one in fields(plan) if not names or one.name in names):
        shown = OPTIONS[name].of(getattr(thing, "__name__", ""))
        first = (get_args(shown.type) or (shown.type,))[0]  # str of `str | None`
        known = {share: "float in (0, 1)", share_or_all: "float in (0, 1]"}
        words = shown.kind or known.get(shown.check) or getattr(first, "__name__", "")
        if get_origin(shown.type) is Literal:
            words = f"{{{', '.join(map(_quoted, get_args(shown.type)))}}}"
        optional = shown.default is None or shown.default == () or callable(shown.default)
        lines.append(f"{name} : {words}, {'optional' if optional else f'default={_quoted(shown.default)}'}")
        text = shown.help.format_map({other: f"`{other}`" for other in OPTIONS})
        lines += [f"    {line}" for line in wrap(f"{text} {shown.in_python}", 112)]
    thing.__doc__ = (thing.__doc__ or "").replace("{options}", "\n    ".join(lines))
    return thing


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


documented(TrainPlan, TrainPlan)
