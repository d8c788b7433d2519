"""Whole pages, and their sections: a report of a table, an evaluation, a comparison, a model."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.findings import text_of
from vrspam._utils.messages import Message, Parameter
from vrspam._utils.texts import auc_text, interval_text, percent, shorten, signed
from vrspam.measures.outcome import Outcome
from vrspam.metrics import Estimate, net_benefit
from vrspam.metrics.concordance import kaplan_meier
from vrspam.metrics.thresholds import Curve, benefit_over_all, effective_share
from vrspam.model.drawing import (
    ADDED,
    common_range,
    explain,
    find_strongest,
    largest_cell,
    score_edges,
    shown_columns,
    sum_by_column,
)
from vrspam.report import page as html
from vrspam.report import pictures, words
from vrspam.report.page import Cell, Html, Page, Row, Stops, number_cell

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison
    from vrspam.measures.measure import Evaluation
    from vrspam.measures.subgroups import Subgroup
    from vrspam.metrics import ComparedPair
    from vrspam.model_selection.learning_curve import LearningCurve
    from vrspam.tool.evaluation import Evaluations
    from vrspam.tool.learning import MoreRows
    from vrspam.tool.model import Model
    from vrspam.tool.report import Report

MOST_FEATURES = 20
MOST_CURVES = 24
FIRST_CURVES = 12  # the others are folded
ShowParameter = Callable[[Parameter], str]


class ShownScores(NamedTuple):
    """What a page says of the scores that it shows, made by a model or elsewhere."""

    outcome: Outcome
    probability_of: Callable[[Any], Any] | None = None  # a score; None: it has none
    zero_is_halfway: bool = False  # between the mean scores of the classes
    elsewhere: bool = False  # made by any model, not by ours

    @classmethod
    def of_model(cls, model: Model) -> ShownScores:
        """Those of a model of `vrspam.tool`."""
        return cls(model.outcome, model.calibration, zero_is_halfway=True)

    @classmethod
    def of_column(cls, outcome: Outcome, is_probability: bool) -> ShownScores:
        """Those of a column; a score that is a probability stays within 0 and 1."""
        return cls(outcome, _within_0_and_1 if is_probability else None, elsewhere=True)


def _within_0_and_1(scores: Any) -> Any:
    return np.clip(scores, 0.0, 1.0)


def report_page(report: Report, *, data_name: str, parameter: ShowParameter = str, command: str = "") -> Page:
    """The report of a table on one page.

    Parameters
    ----------
    report : Report
    data_name : str
        What the table is called.
    parameter : callable
        How to show a parameter that a note names.
    command : str
        The command that makes the page again.

    Returns
    -------
    Page
        `write(path)` writes it as one HTML file that needs no other file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import make_report, report_page
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> report = make_report(path, "target", features="linear", rows=0)
    >>> page = report_page(report, data_name="cells.csv").write(f"{path}.html")
    >>> page.name, page.read_text("utf-8")[:15].lower()
    ('cells.csv.html', '<!doctype html>')
    """
    model, evaluation = report.model, report.evaluation
    names, expected = words.class_names(model.outcome), report.expected
    kept = report.folds is None
    how = "that were kept from the training" if kept else f"by {report.folds}-fold cross-validation"
    where = f"{evaluation.n:,} rows {how}{report.apart}"
    page = Page(f"{data_name}: what predicts {shorten(names['positive'], 80)}?")
    measure = words.name_measure(model.outcome)
    measure = f"{measure[0].upper()}{measure[1:]}"
    remark = f"{auc_text(expected.auc)} ({expected.remark})"
    page.headline = pictures.headline(
        f"{measure} of rows kept from the training" if kept else f"{measure} to expect on new rows",
        expected,
        f"95 % interval {interval_text(expected.low, expected.high)}",
        words.describe_auc(expected.auc, names),
        _first_facts(
            model.outcome,
            model.training["rows"] + (evaluation.n if kept else 0),
            evaluation,
            names,
            words.GUESSING if kept else words.NOT_CORRECTED,
            {"judged by": where, "expect": remark, **words.other_aucs(model, kept)},
        ),
        [
            *words.doubt_of(expected.low, expected.high),
            *model.training.get("warnings", ()),
            *evaluation.notes,
            *(() if report.beside is None else report.beside.notes),
        ],
        "All counts below are for rows the model had not seen.",
        parameter,
    )
    if report.beside is not None:
        add_beside(page, model, report.beside, evaluation.groups is not None)
    add_scores(page, ShownScores.of_model(model), evaluation, names, report.cost_ratio)
    if report.groups:
        page.add("Groups", *describe_groups(report.groups, evaluation))
    add_model(page, model)
    if report.curve is not None:
        add_rows(page, report.curve, lines=False)
    if report.rows:
        page.add("Single rows", *describe_rows(report, names, parameter))
    more = {"columns used": f"{len(model.schema.columns):,}"}
    if report.left_out:
        most = 30
        shown = [*report.left_out[:most], *(["..."] if len(report.left_out) > most else [])]
        more["columns not used as features"] = ", ".join(shown)
    more["rows judged"] = f"{where}; columns, categories and their scales were read from all rows, without labels"
    packages = (f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba"))
    more["versions"] = ", ".join([f"Python {platform.python_version()}", *packages])
    add_origin(page, model, parameter, more=more, notes=False, command=command)
    return page


def add_beside(page: Page, model: Model, found: Comparison, grouped: bool) -> None:
    """Add the comparison of this model with others whose scores were given."""
    told = [html.paragraph(text) for text in words.describe_beside(found, words.name_measure(model.outcome), grouped)]
    drawn = [] if model.ranks else [pictures.curves_of(compared_curves(found))]
    tests = html.pair_tables(words.name_measure(model.outcome), found.pairs, found.intervals)
    page.add(f"Beside {words.listed(found.names[1:])}", told[0], *tests, *drawn, *told[1:])


def evaluation_page(
    model: Model,
    evaluation: Evaluation,
    *,
    model_name: str,
    data_name: str,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: ShowParameter = str,
) -> Page:
    """An evaluation of a model on one page; notes of the training name parameters of `train`."""
    page, outcome = Page(f"{model_name} on {data_name}"), model.outcome
    auc, measure = evaluation.auc, words.name_measure(outcome)
    page.headline = _headline_of_evaluation(
        outcome,
        evaluation,
        f"{measure[0].upper()}{measure[1:]}",
        words.doubt_of(auc.low, auc.high, auc.confidence, measure),
        "No difference from the rows of training was noticed.",
        parameter,
    )
    names = words.class_names(outcome)
    add_scores(page, ShownScores.of_model(model), evaluation, names, cost_ratio, recall)
    if evaluation.subgroups:
        page.add("Groups", *describe_groups(evaluation.subgroups, evaluation))
    add_model(page, model)
    add_origin(page, model, parameter)
    return page


def columns_page(
    several: Evaluations,
    *,
    data_name: str,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: ShowParameter = str,
) -> Page:
    """Evaluations of columns of scores on one page: all side by side, then more about the first."""
    page = Page(f"{words.listed(list(several))} on {data_name}")
    name, evaluation = next(iter(several.items()))
    outcome = several.columns[name].outcome
    names, measure = words.class_names(outcome), words.name_measure(outcome)
    title = f"{measure[0].upper()}{measure[1:]}"
    if len(several) > 1:
        title = f"{title} of {name}"
    page.headline = _headline_of_evaluation(outcome, evaluation, title, [], "Nothing stands out.", parameter)
    if len(several) > 1:
        add_side_by_side(page, several, names, measure, cost_ratio, recall)
    shown = ShownScores.of_column(outcome, evaluation.probabilities is not None)
    add_scores(page, shown, evaluation, names, cost_ratio, recall)
    if evaluation.subgroups:
        page.add("Groups", *describe_groups(evaluation.subgroups, evaluation))
    made = {"table": data_name}
    for column in several.columns.values():
        made[f"column {column.name}"] = column.describe()
    page.add("Where the scores come from", html.paragraph(words.ELSEWHERE), html.facts(made))
    return page


def _headline_of_evaluation(
    outcome: Outcome,
    evaluation: Evaluation,
    title: str,
    doubts: Sequence[str],
    quiet: str,
    parameter: ShowParameter,
) -> Html:
    """The first screen of an evaluation."""
    auc, names = evaluation.auc, words.class_names(outcome)
    interval = f"{100 * auc.confidence:g} % interval {interval_text(auc.low, auc.high)}"
    return pictures.headline(
        title,
        auc,
        f"{interval} ({words.describe_source(evaluation)})",
        words.describe_auc(auc.auc, names),
        _first_facts(outcome, evaluation.n, evaluation, names, words.GUESSING, {}),
        [*doubts, *evaluation.notes],
        words.describe_ranks(outcome) if outcome.ranks else words.AUC_IS,
        parameter,
        "Noticed in these rows",
        quiet,
    )


def add_side_by_side(
    page: Page,
    several: Evaluations,
    names: Mapping[str, str],
    measure: str,
    cost_ratio: float | None,
    recall: float,
) -> None:
    """Add the AUCs of columns of scores, tests of all pairs, their curves, and further numbers of all but the first."""
    compared = several.comparison
    first, *others = several
    blocks = [
        html.paragraph(words.describe_tests(compared.pairs, measure)),
        *html.pair_tables(measure, compared.pairs, compared.intervals),
    ]
    curves = {name: one.curve for name, one in several.items() if one.curve is not None}
    if curves:
        calibrations = []
        for name in others:
            if bins := pictures.drawn_bins(several[name]):
                calibrations.append(pictures.calibration(bins, names, None, title=f"Calibration of {name}"))
        blocks += [pictures.curves_of(curves), html.grid(calibrations)]
        for name in others:
            numbers = _further_numbers(several[name], cost_ratio, recall)
            blocks.append(html.folded(f"Further numbers of {name}", *numbers))
    remark = f"What follows on this page is about {first}. To see another, name it first."
    page.add("The columns side by side", *blocks, html.paragraph(remark, soft=True))


def comparison_page(
    found: Comparison,
    *,
    data_name: str,
    partial: Sequence[ComparedPair] = (),
    max_fpr: float | None = None,
    measure: str = "AUC",
    curves: bool = True,
) -> Page:
    """Models, or columns of scores, on the same rows, on one page.

    `partial` are the tests of their partial AUCs up to `max_fpr`, if they are to be shown too; `measure` names what the
    other tests compare, and `curves` is whether scores have ROC curves.
    """
    positive = found.positive
    told = words.describe_tests(found.pairs, measure)
    counted = "" if positive.all() else f", {int(positive.sum()):,} positive"
    page = Page(f"{words.listed(found.names)} on {data_name}", f"{told} ({positive.size:,} rows{counted}.)")
    how = "DeLong's paired test" if curves else "Paired test, by the jackknife,"
    shown = f"{measure[0].upper()}{measure[1:]}"
    page.add(
        shown, html.paragraph(f"{how} on the same rows:"), *html.pair_tables(measure, found.pairs, found.intervals)
    )
    if partial and max_fpr is not None:
        what = f"{words.describe_partial(max_fpr)} {words.describe_tests(partial, 'partial AUC')}"
        page.add("Partial AUC", html.paragraph(what), *html.pair_tables("partial AUC", partial))
    if curves:
        page.add("Curves", pictures.curves_of(compared_curves(found)))
    return page


def compared_curves(found: Comparison) -> dict[str, Curve]:
    """The curve of each of the scores that are compared."""
    return {name: Curve.of(found.positive, own) for name, own in zip(found.names, found.scores, strict=True)}


def explanation_page(model: Model, *, model_name: str, parameter: ShowParameter = str) -> Page:
    """What a model looks at, on one page."""
    summary = words.describe_direction(model.outcome)
    if (found := words.expected_auc(model)) is not None:
        interval = f"95 % interval {interval_text(found.low, found.high)}"
        summary = f"{summary} {words.describe_ranks(model.outcome) if model.ranks else ''}".strip()
        measure = words.name_measure(model.outcome)
        measure = f"{'an' if measure.startswith('AUC') else 'a'} {measure}"
        summary = f"{summary} Expect {measure} of {auc_text(found.auc)}, {interval} ({found.remark})."
    page = Page(model_name, summary)
    add_model(page, model)
    add_origin(page, model, parameter)
    return page


def rows_page(more: MoreRows, *, data_name: str, asked: Sequence[str] = (), parameter: ShowParameter = str) -> Page:
    """What more rows would bring, on one page; `asked` are sentences of `words.describe_needed`."""
    page = Page(f"{data_name}: how many more rows?", f"{more.curve.total:,} rows, {more.positives:,} positive.")
    page.headline = html.noticed(more.notes, parameter)
    add_rows(page, more.curve, more.lines, fold=False)
    if asked:
        page.add("How many does it take?", html.bullets(asked))
    return page


def add_rows(page: Page, curve: LearningCurve, lines: bool, fold: bool = True) -> None:
    """Add the learning curve; where it is flat the picture is folded."""
    rows: list[Row] = []
    for name, times in words.AS_MANY.items():
        count, found = times * curve.total, curve.at(times * curve.total)
        band = f"{auc_text(found.value)} ({interval_text(found.low, found.high)})"
        rows.append([name, Cell(f"{count:,}", count), Cell(band, found.value)])
    table = html.table(["rows", "how many", "AUC, 90 % band"], rows, "What to expect of a model of this many rows")
    drawn = html.grid([pictures.learning_curve(curve), table], "large")
    if fold and curve.gain(4).value < 0.005:
        drawn = html.folded("The learning curve", drawn)
    page.add("How many more rows?", html.paragraph(words.describe_gain(curve, lines)), drawn)


# ---- scores


def _first_facts(
    outcome: Outcome, rows: int, evaluation: Evaluation, names: Mapping[str, str], remark: str, more: Mapping[str, str]
) -> dict[str, str]:
    """What the first screen tells: rows, the share of positives (by weight if rows have some), times, strata, ..."""
    facts, part = {"rows": f"{rows:,}"}, evaluation.partial_auc
    if "upper" not in names:
        name = f"rows with {names['positive']}{'' if evaluation.weights is None else ', by weight'}"
        share = percent(float(np.average(evaluation.positive, weights=evaluation.weights)))
        count = f"{evaluation.positives:,}" if rows == evaluation.n else f"{evaluation.positives:,} of {evaluation.n:,}"
        facts[name] = f"{count} ({share})"
    if evaluation.times is not None:
        values = evaluation.times if outcome.order is None else -evaluation.times
        low, middle, high = (f"{np.quantile(values, q):.4g}" for q in (0.0, 0.5, 1.0))
        name = f"{outcome.times} observed" if outcome.order is None else outcome.order
        facts[name] = f"{low} to {high}, half of them up to {middle}"
    if evaluation.within is not None:
        target = evaluation.positive if evaluation.times is None else evaluation.times
        usable = np.unique(np.unique(np.stack([evaluation.within, target]), axis=1)[0], return_counts=True)[1] > 1
        many = "" if evaluation.times is not None else f", {int(usable.sum()):,} of them with both kinds of rows"
        facts[f"values of {outcome.within}"] = f"{usable.size:,}{many}"
    facts |= more
    if part is not None and evaluation.max_fpr is not None:
        name = f"partial AUC up to {100 * evaluation.max_fpr:g} % false positives"
        facts[name] = f"{auc_text(part.auc)} ({interval_text(part.low, part.high)}), {remark}"
    return facts


def add_ranks(page: Page, shown: ShownScores, evaluation: Evaluation, names: Mapping[str, str]) -> None:
    """Add which pairs count, and for times how long rows of low and of high scores stay free of their event."""
    outcome, elsewhere = shown.outcome, shown.elsewhere
    meaning = html.paragraph(f"{words.describe_direction(outcome)} {words.describe_ranks(outcome)}")
    within = outcome.within
    if within is not None:
        where = "all numbers" if elsewhere else "training and in all numbers"
        text = f"Only rows of the same {within} are compared, in {where} of this page. Rows that have "
        text += f"no other row to be compared with inside their {within} change no number."
        page.add(f"What inside {within} means", html.paragraph(text), meaning)
    if (times := evaluation.times) is None:
        return
    if outcome.order is not None:
        return _add_order(page, outcome.order, evaluation, meaning, elsewhere)
    third = np.searchsorted(np.quantile(evaluation.scores, (1 / 3, 2 / 3)), evaluation.scores, side="left")
    curves, counts = {}, []
    for number, name in enumerate(("lowest third", "middle third", "highest third")):
        own = third == number
        if not own.any():  # where most scores are equal
            return page.add("How long rows stay free of the event", meaning)
        mass = None if evaluation.weights is None else evaluation.weights[own]
        at, free = curves[f"{name} of the scores"] = kaplan_meier(times[own], evaluation.positive[own], mass)
        counts.append((name, int(own.sum()), int(evaluation.positive[own].sum())))
    time, last, rows = str(outcome.times), min(float(at[-1]) for at, _ in curves.values()), list[Row]()
    for (name, count, events), (at, free) in zip(counts, curves.values(), strict=True):
        share = float(free[np.searchsorted(at, last, side="right") - 1])
        rows.append([name, Cell(f"{count:,}", count), Cell(f"{events:,}", events), Cell(percent(share), share)])
    drawn = pictures.survival_curves(curves, (time, f"share without {names['positive']}"))
    columns = ["scores", "rows", names["positive"], "without it"]
    caption = f"Thirds of the rows by their score; the last column is the share without it up to {time} = {last:.4g}"
    remark = "Censored rows count as long as they were observed."
    remark = remark if elsewhere else f"Each row is scored by a model that has not seen it. {remark}"
    numbers = html.grid([drawn, html.table(columns, rows, caption)], "large")
    page.add("How long rows stay free of the event", meaning, numbers, html.paragraph(remark, soft=True))


def _add_order(page: Page, target: str, evaluation: Evaluation, meaning: Html, elsewhere: bool) -> None:
    """Add the quartiles of the target in each tenth of the rows by score."""
    assert evaluation.times is not None
    place = np.argsort(np.argsort(evaluation.scores, kind="stable")) * min(10, evaluation.n) // evaluation.n
    rows: list[Row] = []
    for number in range(min(10, evaluation.n)):
        own = -evaluation.times[place == number]
        cells = [Cell(f"{value:.4g}", float(value)) for value in np.quantile(own, (0.25, 0.5, 0.75))]
        rows.append([f"{number + 1}", Cell(f"{own.size:,}", own.size), *cells])
    columns = ["tenth", "rows", "25 %", "50 %", "75 %"]
    caption = f"Tenths of the rows by their score, the lowest first: the quartiles of {target} in each"
    remark = html.paragraph("" if elsewhere else "Each row is scored by a model that has not seen it.", soft=True)
    page.add(f"{target[:1].upper()}{target[1:]} and the score", meaning, html.table(columns, rows, caption), remark)


def add_scores(
    page: Page,
    shown: ShownScores,
    evaluation: Evaluation,
    names: Mapping[str, str],
    cost_ratio: float | None,
    recall: float = 0.9,
) -> None:
    """Add the slider, the curves on which it moves a point, the tables of thresholds, and how scores are spread."""
    if shown.outcome.ranks:
        return add_ranks(page, shown, evaluation, names)
    assert evaluation.curve is not None
    stops = Stops.of(evaluation.curve)
    if shown.probability_of is not None:
        stops = replace(stops, probabilities=shown.probability_of(stops.thresholds))
    ratio = cost_ratio or float(f"{stops.negatives / stops.positives:.1g}")
    start = "The threshold of the highest sensitivity + specificity." if cost_ratio is None else "The least cost."
    lost = stops.alarms / stops.negatives - stops.hits / stops.positives
    if cost_ratio is not None:
        lost = stops.alarms + cost_ratio * (stops.positives - stops.hits)
    place = int(np.argmin(lost))
    called = evaluation.scores >= stops.thresholds[place]
    weights = np.ones(evaluation.n) if evaluation.weights is None else evaluation.weights
    if (chosen := evaluation.promised) is not None:
        called = evaluation.scores >= chosen.threshold
        place = int(np.argmin(np.abs(stops.hits + stops.alarms - weights @ called)))
        start = f"The threshold of the model, which {chosen.words}."
    if evaluation.weights is not None or evaluation.groups is not None:
        counted = []  # how many independent rows a positive counts for, and a row that is called positive
        for rows, right in ((evaluation.positive, called), (called, evaluation.positive)):
            groups = None if evaluation.groups is None else evaluation.groups[rows]
            counted.append(effective_share(right[rows], weights[rows], groups))
        stops = replace(stops, effective=(counted[0], counted[1]))
    drawn = pictures.threshold_curves(stops, place, names, evaluation.max_fpr)
    bins = pictures.drawn_bins(evaluation)
    told, measures = words.describe_calibration(evaluation.calibration)
    if bins:
        at = None if stops.probabilities is None else float(stops.probabilities[place])
        drawn.append(pictures.calibration(bins, names, at, measures))
    curve = [[b.predicted for b in bins], [b.observed for b in bins]] if bins else None
    slider, data = html.explorer(stops, place, names, ratio, start, drawn)
    page.data = {"explorer": {**data, "curve": curve, "names": dict(names), "ratio": ratio}}
    counted_by = "Rows are counted by their weights. " if evaluation.weights is not None else ""
    remark = "Drag, or click a curve. The threshold that looks best here will do a little worse on new rows."
    page.add(
        "Choose a threshold",
        slider,
        html.paragraph(f"{counted_by}{remark} {words.ZERO if shown.zero_is_halfway else ''}".strip(), soft=True),
        *(html.paragraph(sentence) for sentence in [*words.describe_promise(evaluation), *told]),
        html.folded(
            "Rules for a threshold, sensitivity at fixed specificity, and further numbers",
            *_further_numbers(evaluation, cost_ratio, recall),
        ),
    )
    edges = score_edges(evaluation.positive, evaluation.scores)
    both = pictures.distribution(evaluation.curve, edges, names, float(stops.thresholds[place]))
    lift = [[Cell(f"top {100 * share:g} %", share), Cell(f"{v:.2f}", v)] for share, v in evaluation.lift.items()]
    page.add("Scores", html.grid([both, html.table(["rows", "lift"], lift, words.LIFT)], "large"))
    add_decisions(page, evaluation)


def add_decisions(page: Page, evaluation: Evaluation) -> None:
    """Add the decision curve: what it is worth to act on rows from a probability on."""
    y, chance, confidence = evaluation.positive, evaluation.probabilities, evaluation.auc.confidence
    if chance is None:
        return
    weights, beside = evaluation.weights, {"groups": evaluation.groups, "sample_weight": evaluation.weights}
    found, share = net_benefit(y, chance, confidence=confidence, **beside), float(np.average(y, weights=weights))
    last = min(0.99, max(float(np.ceil(10.0 * np.quantile(chance, 0.999)) / 10.0), 0.1))
    points = [at for at in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7) if at <= last]
    usual = min(points, key=lambda at: abs(np.log(at / share)))
    rows: list[Row] = []
    for at in points:
        model, low, high, _, every = (100.0 * float(values[round(100 * at) - 1]) for values in found[1:])
        number = Cell(f"{model:.2f} ({low:.2f} to {high:.2f})", model)
        rows.append([Cell(f"{100 * at:g} %", at), number, Cell(f"{every:.2f}", every)])
    over_none = Estimate(*(float(values[round(100 * usual) - 1]) for values in found[1:4]))
    over_all = benefit_over_all(y, chance, usual, confidence=confidence, **beside)
    caption = "Net true alerts per 100 rows: hits, less false alarms at their price; acting on no one brings 0"
    table = html.table(["act from", f"model, {100 * confidence:g} % interval", "everyone"], rows, caption)
    told = html.paragraph(words.describe_benefit(usual, over_all, over_none, confidence))
    page.add("Is it worth acting on?", told, html.grid([pictures.decision_curve(found, last), table], "large"))


def _further_numbers(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> list[Html]:
    """Rules for a threshold, sensitivity at fixed specificity, and single numbers with what they mean."""
    rules: list[Row] = [
        [
            rule,
            number_cell(found.threshold),
            Cell(auc_text(found.sensitivity, 4), found.sensitivity),
            Cell(auc_text(found.specificity, 4), found.specificity),
            "" if found.precision is None else Cell(auc_text(found.precision, 4), found.precision),
            Cell(f"{found.share:.2%}", found.share),
        ]
        for rule, found in words.describe_thresholds(evaluation, cost_ratio, recall)
    ]
    names = ["rule", "score at least", "sensitivity", "specificity", "precision", "rows called positive"]
    rows = [[Cell(f"{100 * s:g} %", s), Cell(auc_text(value, 4), value)] for s, value in evaluation.sensitivity.items()]
    auc, part, meaning = evaluation.auc, evaluation.partial_auc, words.AUC_IS
    interval = f"{100 * auc.confidence:g} % interval"
    facts = {
        "AUC of these rows": auc_text(auc.auc, 4),
        f"{interval} ({words.describe_source(evaluation)})": interval_text(auc.low, auc.high, 4),
        "average precision": auc_text(evaluation.average_precision, 4),
    }
    if part is not None and evaluation.max_fpr is not None:
        meaning = f"{meaning} {words.describe_partial(evaluation.max_fpr)}"
        numbers = f"{auc_text(part.auc, 4)} ({interval_text(part.low, part.high, 4)}, {part.source})"
        facts[f"partial AUC and its {interval}"] = numbers
    facts["rows"] = f"{evaluation.n:,}"
    facts["positives"] = f"{evaluation.positives:,} ({evaluation.positives / evaluation.n:.2%})"
    if evaluation.brier is not None:
        facts["Brier score (less is better)"] = f"{evaluation.brier:.4f}"
        facts["mean calibration error"] = f"{evaluation.calibration_error:.4f}"
    return [
        html.table(names, rules, words.CALLED),
        html.table(["specificity", "sensitivity"], rows, words.SENSITIVITY),
        html.paragraph(meaning, numbers=True),
        html.facts(facts, numbers=True),
    ]


# ---- the model


def add_model(page: Page, model: Model) -> None:
    """Add what the model looks at (bars, and the curves of the columns), and which columns interact."""
    remarks, shapes = words.describe_together(model), model.shapes
    blocks = [html.paragraph(words.describe_curves(model))]
    if len(remarks) > 2:
        title = f"{len(remarks)} groups of columns say nearly the same: judge them together"
        blocks.append(html.folded(title, html.bullets(remarks)))
    else:
        blocks += [html.paragraph(remark) for remark in remarks]
    found = [item for item in find_strongest(model, MOST_FEATURES) if np.isfinite(item[1])]
    spoken = f"Picture: what the model looks at, {words.describe_size(model)}."
    what, names, meaning = "columns", ["column", "spread", "share"], words.SPREAD
    label = "how much it moves scores" if shapes is not None else "part of the difference of the classes"
    if model.features is None:
        what, meaning, label = "features", words.ONE_DEVIATION, "change for one standard deviation"
        names = ["feature", "coefficient", "one deviation", "share", "share of its column"]
    strengths = [pictures.bars(found, label, "What matters most", spoken=spoken)] if found else []
    effects, rows = explain(model), list[Row]()
    shares = dict(sum_by_column(effects)) if model.features is None else {}  # a column may have several features
    for effect in effects[:MOST_FEATURES]:
        size, cells = effect.importance, [Cell(f"{effect.share:.1%}", effect.share)]
        first: list[Cell | str] = ["" if size is None else number_cell(size)]
        if effect.coefficient is not None and effect.effect is not None:
            first = [Cell(f"{effect.coefficient:.4g}", effect.coefficient), number_cell(effect.effect, sign=True)]
            cells.append(Cell(f"{shares[effect.column]:.1%}", shares[effect.column]))
        rows.append([effect.feature, *first, *cells])
    caption = f"The first {MOST_FEATURES} of {len(effects):,} {what}" if len(effects) > MOST_FEATURES else f"All {what}"
    table = html.table(names, rows, caption)
    if shapes is None:
        blocks.append(html.grid([*strengths, table], "large"))
    else:
        columns = shown_columns(shapes.columns)
        ends, drawn = common_range(columns[:MOST_CURVES]), []
        for shape in columns[:MOST_CURVES]:
            name = f"column {shape.name}" if shape.name.isdigit() else shape.name
            drawn.append(pictures.column_picture(shape._replace(name=name), ends))
        blocks += [pictures.key(columns[:MOST_CURVES]), html.grid([*strengths, *drawn[:FIRST_CURVES]])]
        if (more := len(drawn) - FIRST_CURVES) > 0:
            blocks.append(html.folded(f"{more} more column{'s' if more != 1 else ''}", html.grid(drawn[FIRST_CURVES:])))
        if (rest := len(columns) - MOST_CURVES) > 0:
            matter = "columns that matter less are" if rest != 1 else "column that matters less is"
            blocks.append(html.paragraph(f"{rest:,} {matter} not drawn.", soft=True))
    share = words.SHARE_OF_PAIRS if model.ranks else words.SHARE
    explained = html.paragraph(f"{meaning} {share}", soft=True)
    blocks.append(explained if shapes is None else html.folded(f"{caption} as numbers", table, explained))
    page.add("What the model looks at", *blocks)
    if parts := _interactions(model):
        page.add("Which columns interact", *parts)


def _interactions(model: Model) -> list[Html]:
    """Pairs of columns that interact, where the score is not a sum of curves."""
    shapes = model.shapes
    if shapes is None or shapes.interactions is None or len(shapes.columns) < 2:
        return []
    told = f"{100 * shapes.share:.0f} % of the score comes from combinations of columns."
    if 100 * shapes.share < 0.5:
        told = f"{'Hardly anything' if shapes.share else 'Nothing'} here depends on combinations of columns."
    if not shapes.pairs:
        return [html.paragraph(f"{told} No pair of columns stands out.")]
    shown = shapes.pairs[:6]
    largest = largest_cell(shown)
    rows: list[Row] = [[name, Cell(f"{share:.1%}", share)] for name, share in words.describe_pairs(model)]
    numbers = html.table(["columns", "share"], rows, "Share: part of the variance of the score")
    return [
        html.paragraph(told),
        html.paragraph(words.CELLS.format(largest), soft=True),
        html.grid([pictures.heat_map(pair, largest) for pair in shown]),
        html.folded("All pairs as numbers", numbers),
    ]


# ---- groups and single rows


def describe_groups(groups: tuple[Subgroup, ...], evaluation: Evaluation) -> list[Html]:
    """A picture and a table for each column."""
    pairs = evaluation.times is not None
    measure, order = "concordance index" if pairs else "AUC", pairs and bool(evaluation.positive.all())
    asked = "" if evaluation.probabilities is None else ", and its positives with those that were predicted"
    tested = (
        f"Each level is compared with all other rows: its {measure} with theirs{asked} (two-sided tests, normal "
        "approximation). Holm's method keeps the chance of any false mark on this page at 5 %. Levels with too few "
        "rows of a class, inside or outside, are not tested."
    )
    left_out = {"predicted": evaluation.probabilities is None, "positive": order, "observed": order}
    lower = "indices" if pairs else "AUCs"
    blocks = [
        html.paragraph(f"▲▼: differs from the rest by more than chance. Lower {lower} inside groups are normal."),
        html.folded("How this is tested", html.paragraph(tested)),
    ]
    for column in dict.fromkeys(group.column for group in groups):
        levels = [group for group in groups if group.column == column]
        drawn = [group for group in levels if group.auc is not None]
        title = f"{measure[0].upper()}{measure[1:]} by {column}"
        picture = [pictures.forest(title, drawn, evaluation.auc.auc, measure)] if drawn else []
        rows = [_group_row(group, measure) for group in levels]
        names = [name for name in rows[0] if not left_out.get(name)]
        table = html.table(names, [[row[name] for name in names] for row in rows], column)
        blocks.append(html.grid([*picture, table], "beside" if picture else "large"))
    return blocks


def _group_row(group: Subgroup, measure: str) -> dict[str, Cell | str]:
    remarks = []
    if group.ranked_differently:
        word = "worse ▼" if group.worse else "better ▲"
        remarks.append(f"ranked {word} than the others (p = {group.auc_p:.2g})")
    if group.predicted_wrongly and group.predicted is not None:
        word = "low ▲" if group.observed > group.predicted else "high ▼"
        remarks.append(f"predicted too {word} (p = {group.calibration_p:.2g})")
    if group.auc_p is None and group.calibration_p is None:
        remarks.append("too few rows to test")
    auc, found, interval = group.auc, "; ".join(remarks) or "no", f"{measure}, 95 % interval"
    bad = group.predicted_wrongly or (group.ranked_differently and group.worse)
    mark = "bad" if bad else "below" if group.ranked_differently else ""  # blue: different, and good news
    return {
        "level": group.name,
        "rows": Cell(f"{group.rows:,}", group.rows),
        "positive": Cell(f"{group.positives:,}", group.positives),
        interval: "–" if auc is None else Cell(f"{auc_text(auc.auc)} ({interval_text(auc.low, auc.high)})", auc.auc),
        "predicted": "–" if group.predicted is None else Cell(percent(group.predicted), group.predicted),
        "observed": Cell(percent(group.observed), group.observed),
        "beyond chance": Cell(found, None, "", mark) if mark else found,
    }


def describe_rows(report: Report, names: Mapping[str, str], parameter: ShowParameter) -> list[Html]:
    """A card for each single row (what it is, its score, bars of what its columns add), all with the same scale."""
    ranks, time = report.model.ranks, report.model.training.get("times", "")
    order = report.model.training.get("order")
    meaning = f"The bars show what each column adds to the score. {'' if ranks else words.ZERO}".strip()
    if report.folds is not None:
        meaning = (
            "The held-out score comes from a model that has not seen the row. The bars show what each column adds in "
            "the final model, which was trained on all rows; they add up to its score."
        )
    private = "These are rows of your table, with their values; {none} makes a page without them."
    without = text_of(Message(private, none=Parameter("rows", 0)), parameter)
    shown: list[list[tuple[str, str, float]]] = []  # for each row its largest parts, and the sum of the others
    for row in report.rows:
        most = 8 if len(row.parts) > 9 else len(row.parts)
        rest = row.parts[most:]
        others = [(f"{len(rest)} other columns", "", sum(part for *_, part in rest))] if rest else []
        shown.append([*row.parts[:most], *others])
    sizes = [size for parts in shown for *_, size in parts]
    ends = (min(sizes, default=0.0), max(sizes, default=0.0))
    cards: dict[str, list[Html]] = {}
    for row, parts in zip(report.rows, shown, strict=True):
        called = f" ({shorten(', '.join(row.names), 60)})" if row.names else ""
        when = "" if row.time is None else f", {time} {row.time:g}"
        own, other = ("positive", "negative") if row.positive else ("negative", "positive")
        largest = max(abs(row.score), abs(row.own_score))
        facts = {"score" if report.folds is None else "held-out score": signed(row.score, largest)}
        if row.probability is not None:
            facts["probability"] = percent(row.probability)
        if ranks:
            facts["ranked right"] = "it has no pair" if np.isnan(row.above) else f"{percent(row.above, 0)} of its pairs"
        else:
            facts["ranked above"] = f"{percent(row.above, 0)} of the rows with {names[other]}"
        if report.folds is not None:
            facts["score of the final model"] = signed(row.own_score, largest)
        entries, values = [(name, part) for name, _, part in parts], [value for _, value, _ in parts]
        blocks = [html.facts(facts, numbers=True), pictures.bars(entries, ADDED, values=values, ends=ends)]
        what = f"{names[own]}{when}" if order is None or row.time is None else f"{order} {-row.time:g}"
        title = f"<h4><bdi>{escape(f'Row {row.number:,}{called}: {what}')}</bdi></h4>"
        card = Html(f'<article class="card">{title}{"".join(blocks)}</article>')
        cards.setdefault(f"{row.kind[0].upper()}{row.kind[1:]}", []).append(card)
    boxes = [Html(f"<h3><bdi>{escape(kind)}</bdi></h3>{html.grid(found)}") for kind, found in cards.items()]
    return [html.paragraph(meaning), html.paragraph(without, soft=True), *boxes]


# ---- how it was made


def add_origin(
    page: Page,
    model: Model,
    parameter: ShowParameter = str,
    *,
    more: Mapping[str, str] | None = None,
    notes: bool = True,
    command: str = "",
) -> None:
    """Add how the model was made: `more` facts first; with `notes`, also what the training noticed."""
    again = [html.paragraph("The command to do it again:", code=command)] if command else []
    facts = {**(more or {}), **words.training_facts(model)}
    noticed: list[Html] = []
    if notes and (found := [text_of(note, parameter) for note in model.training.get("warnings", ())]):
        noticed = [html.paragraph("Noticed in training:"), html.bullets(found)]
    fit = words.describe_fit(model.training)
    known = [html.folded("How we know that the fit is complete", html.paragraph(fit[1]))] if fit else []
    tried = model.training.get("selection", ())
    compared, n = [], model.training.get("rows", 0)
    if len(tried) > 1:
        rows: list[Row] = []
        for row in tried:
            name, (folds, became) = words.describe_candidate(row["features"]), words.describe_result(row, n)
            mean = Cell(folds, row.get("score", row["auc"])) if folds else "–"
            rows.append([name, Cell(f"{row['n_features']:,}", row["n_features"]), mean, became])
        measure = "partial AUC" if "score" in tried[0] else words.name_measure(model.outcome)
        caption = f"Models compared: mean {measure} ± standard error"
        names = ["model", "features", f"{measure} of the folds", "taken"]
        compared = [html.folded(f"The {len(tried)} models that were compared", html.table(names, rows, caption))]
    page.add("How it was made", html.facts(facts), *known, *compared, *noticed, *again)
