"""Read columns of scores that any model has made, in the place of a model and its rows; comparisons of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam.data import DataError, Schema
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import type_kind
from vrspam.data.readers.problems import Problems, no_column
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import first_look, request_of
from vrspam.data.source import Source
from vrspam.metrics import AUCInterval, ComparedPair, DeLongTest, compare_aucs
from vrspam.tables.decide import ColumnRules
from vrspam.tables.schema import Label
from vrspam.tool.plan import INDEPENDENT, TrainPlan, holds_labels
from vrspam.tool.table import (
    GROUPS_TOO,
    beside_values,
    check_target,
    choose_positive,
    one_spelling,
    ordered_numbers,
    plain_values,
    split_groups,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ScoreColumn:
    """A column of scores, with the attributes that an evaluation needs of a model: target, labels and probabilities.

    `calibration` returns scores that are probabilities unchanged. `training` names columns that say which pairs count.
    """

    name: str
    schema: Schema
    positive: Label
    calibration: Any = None
    training: Mapping[str, Any] = field(default_factory=dict)
    threshold: ClassVar[None] = None
    intercept: ClassVar[None] = None  # a score of 0 means nothing in particular

    @property
    def ranks(self) -> bool:
        """Whether scores only rank rows: of times, of an order or inside strata."""
        return bool(self.training)

    def describe(self) -> str:
        """Whether the scores are probabilities, and how that was decided."""
        if self.ranks:
            return "scores rank rows: they are not taken as probabilities"
        if self.calibration is None:
            return "some values lie outside 0 to 1, so they are scores, not probabilities: no calibration"
        return "all values lie between 0 and 1, so they are taken as probabilities"


class ScoredTable(NamedTuple):
    """Labels of rows, and their scores by a model or from columns; rows that lack a label or a score are left out."""

    columns: Mapping[str, Any]  # a ScoreColumn, or the model
    positive: np.ndarray
    scores: Mapping[Any, np.ndarray]
    notes: tuple[str, ...]
    beside: Mapping[str, Any]  # weights, groups, folds, times and strata
    by: Mapping[str, np.ndarray]


def read_scores(
    path: Any,
    target: str | None,
    scores: str | Sequence[str],
    *,
    positive: str | None = None,
    event: str | None = None,
    within: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    folds: str | None = None,
    by: Sequence[str] = (),
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> ScoredTable:
    """Read labels, columns of scores, and columns such as weights and groups; no other column of the table is read."""
    source = Source.open(path, **reading)
    source.check_named()
    check_target(source, target)
    pairs = TrainPlan(target=target, positive=positive, event=event, within=within).pairs
    label = str(pairs.get("event") or target)
    names = [scores] if isinstance(scores, str) else list(dict.fromkeys(scores))
    given = {
        "weights": weights,
        "groups": groups,
        "folds": folds,
        **{key: name for key, name in pairs.items() if key != "event"},
    }
    beside = {option: name for option, name in given.items() if name not in (None, INDEPENDENT)}
    problems, path, found = Problems("skip" if skip_errors else "raise"), source.paths[0], Schema()
    if not names:
        raise DataError("{scores} names no column: name one at least", scores=Parameter("scores"))
    for option, name in [*(("scores", name) for name in names), *beside.items()]:
        if name == label and option != "order":
            raise holds_labels(name, option)
        if option == "scores" and name in pairs.values():
            words = "column {column!r} says which rows are compared: name another with {option}"
            raise DataError(words, column=name, option=Parameter(option))

    def choose(types: Mapping[str, Any]) -> ColumnRequest:
        nonlocal found
        found = first_look(types, label, ColumnRules(path=path), columns=[]).schema
        split_groups(beside, types)
        wanted = dict.fromkeys([*names, *beside.values(), *by])
        if missing := [name for name in wanted if name not in types]:
            raise DataError(no_column(path, missing[0], types))
        kinds = request_of(found, keep=wanted).types
        plain = {"number", "bool"}  # what is text in a file of text may still be numbers
        names_of = {label, *(beside.get(option) for option in ("groups", GROUPS_TOO, "within", "folds"))}
        numbers = {name for name in wanted if type_kind(types[name]) in plain} - names_of
        like = request_of(Schema(tuple(numbers))).types
        return ColumnRequest({**kinds, **like}, lenient=True)

    import pyarrow as pa

    blocks = read_ahead(source.blocks(choose, 1 << 20, problems, "reading" if progress else None))
    parts = [block.table for block in blocks if block.rows]
    if not parts:
        raise problems.nothing_left(path)
    table = pa.Table.from_batches(parts)
    labels, codes = labels_of(table.column(label), problems)
    if not labels:
        raise problems.nothing_left(path)
    problems.warn()
    known, best = ((), "") if "order" in pairs else choose_positive(labels, positive, event)
    values = {name: ordered_numbers(table, name, path, "scores") for name in names}
    there = codes >= 0
    kept, notes = with_all_scores(values, there)
    is_positive = np.array([one == best or "order" in pairs for one in labels])[codes]
    if not kept.all():
        table = table.filter(pa.array(kept))
        values, is_positive = {name: part[kept] for name, part in values.items()}, is_positive[kept]
    if "event" not in pairs and "order" not in pairs:
        check_classes(is_positive, path)
    schema = Schema(target=label, target_type=found.target_type, labels=tuple(known))
    columns = {}
    for name, part in values.items():  # probabilities if they all lie between 0 and 1, unless they only rank pairs
        likely = not pairs and part.min() >= 0.0 and part.max() <= 1.0
        handed_on = (lambda scores: np.clip(scores, 0.0, 1.0)) if likely else None
        columns[name] = ScoreColumn(name, schema, best, handed_on, pairs)
    more, levels = beside_values(table, beside, path, least_groups=2), {name: plain_values(table, name) for name in by}
    return ScoredTable(columns, is_positive, values, notes, more, levels)


def labels_of(column: Any, problems: Problems) -> tuple[list[Label], np.ndarray]:
    """The label of each code, and the code of each row, negative without a label; `problems` counts such rows."""
    coded = column.combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy()
    texts = [value.strip() if isinstance(value, str) else value for value in coded.dictionary.to_pylist()]
    gone = [place for place, value in enumerate(texts) if value == "" or value != value]
    if gone:
        codes = np.where(np.isin(codes, gone), -1, codes)
    problems.unlabelled = int((codes < 0).sum())
    counts = np.bincount(codes[codes >= 0] if problems.unlabelled else codes, minlength=len(texts)).tolist()
    known = one_spelling({text: count for text, count in zip(texts, counts, strict=True) if count})
    if not known:
        return [], codes
    return [known.get(text, next(iter(known))) for text in texts], codes


def with_all_scores(
    scores: Mapping[str, np.ndarray], there: np.ndarray | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return which rows (of those that are `there`) have all scores, and a note on the others."""
    gone = {name: np.isnan(values) for name, values in scores.items()}
    there = np.ones(next(iter(gone.values())).size, dtype=bool) if there is None else there
    missing = {name: count for name, empty in gone.items() if (count := int((empty & there).sum()))}
    if not missing:
        return there, ()
    kept = there & ~np.logical_or.reduce(list(gone.values()))
    where = ", ".join(f"'{name}' ({count:,} rows)" for name, count in missing.items())
    if not kept.any():
        raise DataError(f"no row has all scores: they are missing in {where}; fill them in, or name other columns")
    words = "scores are missing in {where}: {count:,} rows were left out of all columns, so that all are measured on "
    return kept, (Message(f"{words}the same rows", where=where, count=int(there.sum() - kept.sum())),)


def check_classes(positive: np.ndarray, path: str) -> None:
    """Refuse rows that hold fewer than two of a class."""
    for wanted, name in ((positive, "positive"), (~positive, "negative")):
        if wanted.sum() < 2:
            raise DataError(f"an evaluation needs at least two {name} rows, and {path} has {wanted.sum()}")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Paired tests of two or more models, or columns of scores, and the rows that they rest on.

    It can be unpacked into `test`, `positive` and `scores`.

    Attributes
    ----------
    test : DeLongTest
        First model minus second.
    positive : boolean array of n
    scores : tuple of arrays of n
    names : tuple of str
    pairs : tuple of ComparedPair
        All pairs, with p-values adjusted for their number by Holm's method.
    intervals : tuple of AUCInterval
        The AUC of each, with its interval.
    optimism : float
        How much too high the AUC of the first was because it was chosen; its AUC is without this.
    notes : tuple of str
    beside : dict
        `groups` and `sample_weight` of the rows, None where there are none.
    ranks : bool
        Whether pairs of times, of an order or inside strata were compared: there is no ROC curve then.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import delong_test
    >>> from vrspam.tool import Comparison
    >>> positive, a, b = np.arange(8) > 3, np.arange(8.0), np.array([5.0, 2, 3, 6, 4, 1, 7, 8])
    >>> test, _, _ = comparison = Comparison(delong_test(positive, a, b), positive, (a, b))  # as from `compare`
    >>> test.auc_a, test.auc_b, comparison.partial_test(0.5).auc_a
    (1.0, 0.625, 1.0)
    """

    test: Any  # DeLongTest; None if there is only one score
    positive: np.ndarray
    scores: tuple[np.ndarray, ...]
    names: tuple[str, ...] = ("first", "second")
    pairs: tuple[ComparedPair, ...] = ()
    intervals: tuple[AUCInterval, ...] = ()
    optimism: float = 0.0
    notes: tuple[str, ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    ranks: bool = False

    def __iter__(self) -> Iterator[Any]:
        return iter((self.test, self.positive, self.scores))

    def flat(self) -> dict[str, Any]:
        """The AUC of each with its interval, and the tests, for scripts; what cannot be tested is None."""
        found = zip(self.names, self.intervals, strict=True)
        each = {name: {"auc": one.auc, "low": one.low, "high": one.high} for name, one in found}
        return {"scores": each, "optimism": self.optimism, "n": self.positive.size, "pairs": flat_pairs(self.pairs)}

    def partial_pairs(self, max_fpr: float) -> tuple[ComparedPair, ...]:
        """The paired tests of the partial AUCs up to a false-positive rate, standardised."""
        if self.ranks:
            raise DataError("scores of times, of an order or inside strata have no ROC curve, and so no partial AUC")
        both = dict(zip(self.names, self.scores, strict=True))
        confidence = 0.95 if self.test is None else self.test.confidence
        return compare_aucs(self.positive, both, max_fpr=max_fpr, confidence=confidence, **self.beside)

    def partial_test(self, max_fpr: float) -> DeLongTest:
        """The test of the first pair, as in `partial_pairs`."""
        return self.partial_pairs(max_fpr)[0].test


def flat_pairs(pairs: Sequence[ComparedPair]) -> list[dict[str, Any]]:
    """Tests of pairs as JSON can hold them."""
    found = [{"a": a, "b": b, **asdict(test), "adjusted_p": p} for a, b, test, p in pairs]
    return [{name: None if value != value else value for name, value in one.items()} for one in found]


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Figure:
    """Draw the ROC curves, and the curves of precision and recall."""
    from vrspam.plotting import plot_precision_recall, plot_roc
    from vrspam.plotting.style import new_figure

    figure, axes = new_figure(1, 2, (10.4, 4.9))
    plot_roc(positive, scores, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, scores, ax=axes[0, 1])
    return figure
