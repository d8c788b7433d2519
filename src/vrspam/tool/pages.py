"""Evaluations, comparisons and models as pictures, and as self-contained HTML pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from vrspam import __version__
from vrspam._utils.messages import Parameter, worded
from vrspam.metrics import DeLongTest
from vrspam.plotting import (
    plot_coefficients,
    plot_interactions,
    plot_lift,
    plot_precision_recall,
    plot_reliability,
    plot_roc,
    plot_scores,
    plot_shapes,
)
from vrspam.plotting.style import new_figure, save_figure
from vrspam.report import Bullets, Cell, Facts, Figure, Page, Table, Text
from vrspam.tool.evaluation import Evaluation, calibration_error, describe_thresholds, verdict
from vrspam.tool.explanation import (
    NOT_CORRECTED,
    describe_accuracy,
    describe_curves,
    describe_model,
    describe_pairs,
    describe_part,
    describe_size,
    describe_together,
    expected_auc,
    explain,
    find_strongest,
    sum_by_column,
)
from vrspam.tool.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MOST_FEATURES = 20
LEGEND_LINE = 20  # letters of a name in one line of a legend, before its AUC


def features_picture(model: Model) -> Picture:
    """The curves of the most important columns; for a model without curves, the features of the largest effect."""
    if model.shapes is not None:
        shapes = {shape.name: shape for shape in model.shapes.columns}
        return plot_shapes({name: shape for name, shape in shapes.items() if shape.importance > 0.0} or shapes)
    found = find_strongest(model, MOST_FEATURES)
    figure, axes = new_figure(1, 1, (8.0, 1.1 + 0.27 * max(len(found), 2)))
    names, sizes = [name for name, _ in found], [size for _, size in found]
    plot_coefficients(names, sizes, label=describe_size(model), ax=axes[0, 0])
    return figure


def curves_picture(evaluation: Evaluation) -> Picture:
    """The ROC curve, and the curve of precision and recall."""
    figure, axes = new_figure(1, 2, (10.4, 4.9))
    plot_roc(evaluation.positive, evaluation.scores, max_fpr=evaluation.max_fpr, ax=axes[0, 0])
    plot_precision_recall(evaluation.positive, evaluation.scores, ax=axes[0, 1])
    return figure


def scores_picture(model: Model, evaluation: Evaluation) -> Picture:
    """The scores of both classes with Youden's threshold, and the lift of the highest scores."""
    figure, axes = new_figure(1, 2, (10.4, 3.8))
    youden = evaluation.thresholds["youden"].threshold
    names = ("negatives", f"positives ({model.positive})")
    plot_scores(evaluation.positive, evaluation.scores, threshold=youden, names=names, ax=axes[0, 0])
    plot_lift(evaluation.positive, evaluation.scores, ax=axes[0, 1])
    return figure


def reliability_picture(evaluation: Evaluation) -> Picture:
    """Observed frequencies against predicted probabilities."""
    figure, axes = new_figure(1, 1, (5.0, 4.2))
    bins = evaluation.bins
    plot_reliability([b.predicted for b in bins], [b.observed for b in bins], [b.rows for b in bins], ax=axes[0, 0])
    return figure


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Picture:
    """Both ROC curves, and both curves of precision and recall."""
    figure, axes = new_figure(1, 2, (10.4, 4.9))
    shown = {_wrapped(name): values for name, values in scores.items()}
    plot_roc(positive, shown, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, shown, ax=axes[0, 1])
    return figure


def _wrapped(name: str) -> str:
    """A name in lines that a legend has room for; the middle of a very long one is left out."""
    half = 3 * LEGEND_LINE // 2
    if len(name) > 2 * half:
        name = f"{name[: half - 1]}…{name[-half:]}"
    return "\n".join(wrap(name, LEGEND_LINE, break_on_hyphens=False))


NARROW = 5.5  # inches: a picture that a phone has room for
PARTIAL_FACTS = {"max_fpr", "cv_partial_auc", "cv_partial_auc_low", "cv_partial_auc_high"}
ShowParameter = Callable[[Parameter], str]


def evaluation_page(
    model: Model,
    evaluation: Evaluation,
    folder: Path,
    *,
    model_name: str,
    data_name: str,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: ShowParameter = str,
) -> Page:
    """An evaluation on one page; its pictures are written to `folder`.

    Notes of the training name parameters of `train`; `parameter` says how to show one to the reader.
    """
    auc = evaluation.auc
    page = Page(
        f"{model_name} on {data_name}",
        f"AUC {auc.auc:.3f}, {_percent(auc.confidence)} interval {auc.low:.3f} to {auc.high:.3f} ({auc.source}), on "
        f"{evaluation.n:,} rows of which {evaluation.positives:,} are positive ({model.positive}).",
    )
    figures = {"ROC and precision": curves_picture(evaluation), "scores": scores_picture(model, evaluation)}
    if evaluation.bins:
        figures["reliability"] = reliability_picture(evaluation)
    shown = {name: _embedded(figure, folder, name) for name, figure in figures.items()}
    noticed: list[Text | Bullets] = []
    if evaluation.notes:
        noticed = [Text("Noticed in these rows:"), Bullets(list(evaluation.notes))]
    page.add("Ranking", *_ranking(evaluation), *noticed, shown["ROC and precision"])
    page.add("Scores", shown["scores"], *_lift_table(evaluation))
    page.add("Thresholds", _threshold_table(evaluation, cost_ratio, recall), *_sensitivity_table(evaluation))
    if evaluation.bins:
        page.add("Probabilities", *_reliability_words(evaluation), shown["reliability"])
    _describe_model(page, model, folder, parameter)
    return page


def explanation_page(model: Model, folder: Path, *, model_name: str, parameter: ShowParameter = str) -> Page:
    """What a model looks at, on one page; its picture is written to `folder`."""
    name = f"{model.schema.target} = " if model.schema.target else ""
    words = f"A higher score means that {name}{model.positive} is more likely."
    if (found := expected_auc(model)) is not None:
        interval = f"95 % interval {found.low:.3f} to {found.high:.3f}"
        words = f"Cross-validated AUC {found.auc:.3f}, {interval} ({found.remark}). {words}"
    page = Page(model_name, words)
    _describe_model(page, model, folder, parameter)
    return page


def _describe_model(page: Page, model: Model, folder: Path, parameter: ShowParameter) -> None:
    picture = _embedded(features_picture(model), folder, "what the model looks at", describe_curves(model))
    page.add("What the model looks at", picture, *map(Text, describe_together(model)), *_feature_table(model))
    if parts := _interactions(model, folder):
        page.add("Which columns interact", *parts)
    page.add("The model", _training_facts(model), *_selection_table(model), *_notes(model, parameter))


def comparison_page(
    test: DeLongTest,
    positive: np.ndarray,
    scores: Mapping[str, np.ndarray],
    folder: Path,
    *,
    data_name: str,
    partial: DeLongTest | None = None,
    max_fpr: float | None = None,
) -> Page:
    """Two models on the same rows, on one page; its picture is written to `folder`.

    `partial` is the test of their partial AUCs up to `max_fpr`, if it is to be shown too.
    """
    a, b = scores
    page = Page(
        f"{a} and {b} on {data_name}",
        f"{verdict(test, a, b)} ({positive.size:,} rows, {int(positive.sum()):,} positive.)",
    )
    page.add("AUC", Text("DeLong's paired test on the same rows:"), *_test_table(test, a, b, "AUC"))
    if partial is not None and max_fpr is not None:
        words = f"{_part(max_fpr)} {verdict(partial, a, b, 'partial AUC')} Paired test on the same rows:"
        page.add("Partial AUC", Text(words), *_test_table(partial, a, b, "partial AUC"))
    page.add("Curves", _embedded(comparison_picture(positive, scores, max_fpr), folder, "curves of both models"))
    return page


def _test_table(test: DeLongTest, a: str, b: str, measure: str) -> list[Table | Facts]:
    rows: list[list[Cell | str]] = [
        [a, _cell(test.auc_a)],
        [b, _cell(test.auc_b)],
        [f"{a} minus {b}", _cell(test.difference, sign=True)],
    ]
    facts = {
        f"{_percent(test.confidence)} interval of the difference": f"{test.low:+.4f} to {test.high:+.4f}",
        "z": f"{test.z:.3f}",
        "p, two-sided": f"{test.p_value:.3g}",
    }
    return [Table(["model", measure], rows), Facts(facts)]


def _part(max_fpr: float) -> str:
    """What a partial AUC is, in one sentence."""
    return (
        f"The partial AUC is the AUC of the part of the curve up to {_percent(max_fpr)} false positives, standardised: "
        "0.5 is guessing, 1 is perfect."
    )


_CAPTIONS = {
    "interactions": "The mean of what interactions add to the score, over the rows in each cell; a cell of fewer than "
    "three rows is grey. Each bin of numbers holds about as many rows.",
    "ROC and precision": "Left: ROC curve. Right: precision against recall. Dashed: random scores.",
    "scores": "Left: scores of both classes, with Youden's threshold; the outermost bars hold all rows beyond them. "
    "Right: how many times more positives are among the highest scores than among rows drawn at random.",
    "reliability": "Rows grouped by predicted probability: the mean prediction of each group, and the observed "
    "frequency of positives with its 95 % interval. On the dashed line both agree.",
    "curves of both models": "Left: ROC curves. Right: precision against recall. Dashed: random scores.",
}


def _embedded(figure: Picture, folder: Path, name: str, caption: str | None = None) -> Figure:
    path = save_figure(figure, folder / f"{name.replace(' ', '-')}.svg")
    narrow = figure.get_size_inches()[0] <= NARROW
    return Figure(path, caption or _CAPTIONS[name], f"Picture: {name}", bool(narrow))


def _ranking(evaluation: Evaluation) -> list[Text | Facts]:
    auc, part = evaluation.auc, evaluation.partial_auc
    words = "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect."
    of_part: dict[str, str] = {}
    interval = f"{_percent(auc.confidence)} interval"
    if part is not None and evaluation.max_fpr is not None:
        words = f"{words} {_part(evaluation.max_fpr)}"
        numbers = f"{part.auc:.4f} ({part.low:.4f} to {part.high:.4f}, {part.source})"
        of_part[f"partial AUC and its {interval}"] = numbers
    return [
        Text(words),
        Facts(
            {
                "AUC": f"{auc.auc:.4f}",
                interval: f"{auc.low:.4f} to {auc.high:.4f}",
                "average precision": f"{evaluation.average_precision:.4f}",
                **of_part,
                "rows": f"{evaluation.n:,}",
                "positives": f"{evaluation.positives:,} ({evaluation.positives / evaluation.n:.2%})",
            }
        ),
    ]


def _lift_table(evaluation: Evaluation) -> list[Text | Table]:
    rows = [[Cell(f"top {_percent(share)}", share), Cell(f"{v:.2f}", v)] for share, v in evaluation.lift.items()]
    return [
        Text("How many times more positives are among the highest scores than among rows drawn at random:"),
        Table(["rows", "lift"], rows),
    ]


def _threshold_table(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> Table:
    rows = [
        [
            words,
            _cell(found.threshold),
            _cell(found.sensitivity),
            _cell(found.specificity),
            "" if found.precision is None else _cell(found.precision),
            Cell(f"{found.share:.2%}", found.share),
        ]
        for words, found in describe_thresholds(evaluation, cost_ratio, recall)
    ]
    names = ["rule", "score at least", "sensitivity", "specificity", "precision", "rows called positive"]
    return Table(names, rows, "A row is called positive if its score reaches the threshold")


def _sensitivity_table(evaluation: Evaluation) -> list[Text | Table]:
    rows = [[Cell(_percent(s), s), _cell(value)] for s, value in evaluation.sensitivity.items()]
    words = (
        "Share of the positives called positive (sensitivity) when at least this share of the negatives is called "
        "negative (specificity):"
    )
    return [Text(words), Table(["specificity", "sensitivity"], rows)]


def _reliability_words(evaluation: Evaluation) -> list[Text | Facts]:
    assert evaluation.brier is not None
    return [
        Text("Predicted probabilities against observed frequencies."),
        Facts(
            {
                "Brier score (less is better)": f"{evaluation.brier:.4f}",
                "mean calibration error": f"{calibration_error(evaluation.bins):.4f}",
            }
        ),
    ]


def _feature_table(model: Model) -> list[Text | Table]:
    effects = explain(model)
    shares = dict(sum_by_column(effects))
    what, names = "features", ["feature", "coefficient", "one deviation", "share", "share of its column"]
    words = "One deviation: change of the score when the feature rises by one standard deviation."
    if model.features is not None:
        what, names = "columns", ["column", "spread", "share"]
        words = "Spread: standard deviation of what the column adds to the score, both classes weighing the same."
    rows: list[list[Cell | str]] = []
    for effect in effects[:MOST_FEATURES]:
        row: list[Cell | str] = [effect.feature]
        if effect.coefficient is not None and effect.effect is not None:
            row += [Cell(f"{effect.coefficient:.4g}", effect.coefficient), _cell(effect.effect, sign=True)]
            row += [Cell(f"{share:.1%}", share) for share in (effect.share, shares[effect.column])]
        else:
            row += ["" if effect.importance is None else _cell(effect.importance)]
            row += [Cell(f"{effect.share:.1%}", effect.share)]
        rows.append(row)
    more = f"The first {MOST_FEATURES} of {len(effects)} {what}" if len(effects) > MOST_FEATURES else f"All {what}"
    return [
        Text(f"{words} Share: part of the difference between the mean scores of the classes."),
        Table(names, rows, more),
    ]


def _interactions(model: Model, folder: Path) -> list[Text | Table | Figure]:
    """Pairs of columns that interact, where the score is not a sum of curves."""
    shapes = model.shapes
    if shapes is None or shapes.interactions is None or not shapes.whole:
        return []
    words = (
        f"Interactions, what no sum of curves can say, make up {100 * shapes.share:.1f} % of the variance of the score."
        " In them no function of a single column is left."
    )
    pairs = describe_pairs(model)
    if not pairs:
        return [Text(f"{words} No pair of columns stands out.")]
    rows: list[list[Cell | str]] = [[name, Cell(f"{share:.1%}", share)] for name, share in pairs]
    picture = _embedded(plot_interactions(model), folder, "interactions")
    return [Text(words), picture, Table(["columns", "share"], rows, "Share: part of the variance of the score")]


def _selection_table(model: Model) -> list[Table]:
    """The feature maps that were compared, if there were several."""
    tried = model.training.get("selection", ())
    if len(tried) < 2:
        return []
    rows = [
        [
            row["features"].replace(" ", "\N{NO-BREAK SPACE}"),
            Cell(f"{row['n_features']:,}", row["n_features"]),
            Cell(f"{row.get('score', row['auc']):.4f} ± {row['standard_error']:.4f}", row.get("score", row["auc"])),
            describe_part(row, model.training.get("rows", 0)),
        ]
        for row in tried
    ]
    measure = "partial AUC" if "score" in tried[0] else "AUC"
    return [
        Table(
            ["model", "features", f"{measure} of the folds", "taken"],
            rows,
            f"Models compared: mean {measure} ± standard error; the number after kernel is its width, "
            "that after trees their depth",
        )
    ]


def _training_facts(model: Model) -> Facts:
    """How the model came about, as far as it says so itself."""
    facts, words = model.training, {}
    if "data" in facts:
        words["trained on"] = ", ".join(facts["data"])
    if facts.keys() >= {"rows", "positives"}:
        words["rows"] = f"{facts['rows']:,}, {facts['positives']:,} positive"
    words["model"] = describe_model(model)
    if (found := expected_auc(model)) is not None:
        words["cross-validated AUC"] = f"{found.auc:.4f} ({found.low:.4f} to {found.high:.4f}), {found.remark}"
    if facts.keys() >= PARTIAL_FACTS:
        interval = f"{facts['cv_partial_auc_low']:.4f} to {facts['cv_partial_auc_high']:.4f}"
        part = f"up to {_percent(facts['max_fpr'])} false positives"
        words["cross-validated partial AUC"] = f"{facts['cv_partial_auc']:.4f} ({interval}), {part}; {NOT_CORRECTED}"
    if facts.get("loss", "squared") != "squared":
        words["loss"] = facts["loss"]
    if facts.keys() >= {"l2", "l1"}:
        words["l2, l1"] = f"{facts['l2']:.3g}, {facts['l1']:.3g}"
    if facts.get("penalty", "elasticnet") != "elasticnet":
        words["penalty"] = facts["penalty"]
    if (accuracy := describe_accuracy(facts)) is not None:
        words["certificate"] = accuracy
    words["calibration"] = "none" if model.calibration is None else model.calibration.method
    words["page written by"] = f"vrspam {__version__}"
    return Facts(words)


def _notes(model: Model, parameter: ShowParameter) -> list[Text | Bullets]:
    notes = [worded(note, parameter) for note in model.training.get("warnings", ())]
    return [Text("Noticed in training:"), Bullets(notes)] if notes else []


def _cell(value: float, *, sign: bool = False) -> Cell:
    return Cell(f"{value:{'+' if sign else ''}.4{'f' if abs(value) < 1e4 else 'g'}}", value)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
