"""`vrspam evaluate` and `vrspam compare`: models on labelled rows that they have not seen."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import app
from vrspam.tool.plan import check_measures, read_names

if TYPE_CHECKING:
    from vrspam.metrics import DeLongTest
    from vrspam.tool import Model
    from vrspam.tool.evaluation import Evaluation


@app.with_options("cost_ratio", "max_fpr", *app.READING, "skip_errors")
def evaluate(
    model: app.ModelFile,
    data: app.Data,
    html: app.HtmlOut = None,
    confidence: app.Confidence = 0.95,
    recall: Annotated[
        float, typer.Option(help="Adds the highest threshold that finds this share of the positives.")
    ] = 0.9,
    weights: app.Weights = None,
    groups: app.Groups = None,
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Measure how good a model is on labelled rows: AUC with its interval, curves, thresholds, lift, calibration.

    Use rows that the model was not trained on.

    Example:  vrspam evaluate patients.json new-patients.csv --html report.html

    Example:  vrspam evaluate patients.json new-patients.csv --cost-ratio 20 --json

    Example:  vrspam evaluate patients.json new-patients.csv --max-fpr 0.1
    """
    require("data", "pyarrow")
    reading = app.read_options(given)
    with app.misuse():
        reading["allow_missing"] = () if allow_missing is None else read_names(allow_missing)
    measures = {name: reading.pop(name) for name in ("cost_ratio", "max_fpr")}
    measures |= {"confidence": confidence, "recall": recall}
    with app.misuse():
        check_measures(weights, **measures)
    app.check_output("--html", html, model, data)
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import evaluate as evaluate_model
    from vrspam.tool.evaluation import score_rows

    with app.warnings_as_lines():
        loaded = load_model(model)
        beside: dict[str, Any] = {"weights": weights, "groups": groups}
        rows = score_rows(loaded, data, progress=app.err.is_terminal, **beside, **reading)._asdict()
        found = evaluate_model(loaded, rows.pop("positive"), **rows, **measures)
        if html is not None:
            from vrspam.report.sections import evaluation_page

            evaluation_page(
                loaded,
                found,
                model_name=model.name,
                data_name=Path(data).name,
                cost_ratio=measures["cost_ratio"],
                recall=recall,
                parameter=app.as_option,
            ).write(html)
    if as_json:
        app.print_json({**found.flat(), "warnings": app.worries(found.auc, found.notes)})
        return
    _describe(loaded, found, measures["cost_ratio"], recall)
    if html is not None:
        app.show_facts([("page", str(html))], 17)


@app.with_options("max_fpr", *app.READING, "skip_errors")
def compare(
    model_a: app.ModelFile,
    model_b: app.ModelFile,
    data: app.Data,
    picture: app.Picture = None,
    html: app.HtmlOut = None,
    confidence: app.Confidence = 0.95,
    weights: app.Weights = None,
    groups: app.Groups = None,
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Test whether one model ranks the same rows better than another: DeLong's paired test.

    With --max-fpr also the paired test of their partial AUCs.

    Example:  vrspam compare old.json new.json new-patients.csv --picture both.png
    """
    require("data", "pyarrow")
    reading = app.read_options(given)
    with app.misuse():
        reading["allow_missing"] = () if allow_missing is None else read_names(allow_missing)
    max_fpr = reading.pop("max_fpr")
    with app.misuse():
        check_measures(confidence=confidence)
    app.check_output("--picture", picture, model_a, model_b, data)
    app.check_output("--html", html, model_a, model_b, data)
    from vrspam.report.words import name_measure
    from vrspam.tool import compare as compare_models
    from vrspam.tool import load_model

    with app.warnings_as_lines():
        models = load_model(model_a), load_model(model_b)
        found = compare_models(*models, data, confidence=confidence, weights=weights, groups=groups, **reading)
    test, positive, (a, b) = found
    name_a, name_b = model_a.name, model_b.name
    if model_a == model_b:
        name_b += " (again)"
    elif name_a == name_b:  # in different directories
        name_a, name_b = str(model_a), str(model_b)
    scores = {name_a: a, name_b: b}
    ranks, measure = models[0].ranks, name_measure(models[0])
    if picture is not None and ranks:
        raise app.Misuse(f"--picture draws ROC curves, which models of this {measure} do not have: leave it out")
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.evaluation import comparison_picture

        save_figure(comparison_picture(positive, scores, max_fpr), picture)
    partial = None if max_fpr is None else found.partial_test(max_fpr)
    if html is not None:
        from vrspam.report.sections import comparison_page

        name, more = Path(data).name, {"partial": partial, "max_fpr": max_fpr, "measure": measure, "curves": not ranks}
        comparison_page(test, positive, scores, data_name=name, **more).write(html)
    if as_json:
        values = {**asdict(test), "n": positive.size, "positives": int(positive.sum())}
        if partial is not None:
            values["max_fpr"] = max_fpr
            values |= {f"partial_{name}": value for name, value in asdict(partial).items() if name != "confidence"}
        app.print_json({name: None if value != value else value for name, value in values.items()})
        return
    how = "jackknife" if ranks else "DeLong"
    counted = f"{positive.size:,} rows"
    if (groups_of := found.beside["groups"]) is not None:
        counted += f" in {len(set(groups_of.tolist())):,} groups"
    _describe_test(test, name_a, name_b, measure, f"{how}, paired, {counted}")
    if partial is not None and max_fpr is not None:
        part = f"up to {100 * max_fpr:g} % false positives, standardised; paired"
        _describe_test(partial, name_a, name_b, "partial AUC", part)
    for path in (picture, html):
        if path is not None:
            app.say(str(path))


def _describe_test(test: DeLongTest, name_a: str, name_b: str, measure: str, how: str) -> None:
    from vrspam.report.words import auc_text, verdict

    names = {name_a: test.auc_a, name_b: test.auc_b}
    app.show_facts([(name, f"{measure} {auc_text(auc, 4)}") for name, auc in names.items()], max(map(len, names)))
    interval = f"{100 * test.confidence:g} % interval {test.low:+.4f} to {test.high:+.4f}"
    app.tell(f"difference {test.difference:+.4f}, {interval}, z = {test.z:.3f}, p = {test.p_value:.3g} ({how})")
    app.tell(verdict(test, name_a, name_b, measure))


def _describe(model: Model, found: Evaluation, cost_ratio: float | None, recall: float) -> None:
    from vrspam._utils.texts import share_text
    from vrspam.metrics.thresholds import calibration_error
    from vrspam.report import words

    auc, share = found.auc, found.positives / found.n
    if found.weights is not None:
        share = float(found.weights[found.positive].sum() / found.weights.sum())
    interval = f"{100 * auc.confidence:g} % interval {words.interval_text(auc.low, auc.high, 4)}"
    facts = [
        ("rows", words.describe_balance(model, found.n, found.positives)),
        (words.name_measure(model), f"{words.auc_text(auc.auc, 4)}, {interval} ({words.describe_source(found)})"),
        ("", words.describe_auc(auc.auc, words.class_names(model) if model.ranks else None)),
    ]
    if model.ranks:
        app.show_facts([*facts, ("", words.describe_ranks(model))], 17)
        for note in app.worries(found.auc, found.notes):
            app.warn(f"warning: {note}")
        return
    if (part := found.partial_auc) is not None and found.max_fpr is not None:
        interval = f"{100 * part.confidence:g} % interval {words.interval_text(part.low, part.high, 4)}"
        limit = f"up to {100 * found.max_fpr:g} % false positives, standardised; {part.source}"
        facts.append(("partial AUC", f"{words.auc_text(part.auc, 4)}, {interval} ({limit})"))
    facts.append(("average precision", f"{words.auc_text(found.average_precision, 4)} ({share:.4f} by guessing)"))
    if found.brier is not None:
        nothing = f"0 is perfect, {share * (1.0 - share):.4f} is the same probability for all rows"
        facts.append(("Brier score", f"{found.brier:.4f} ({nothing})"))
        error = "mean distance between predicted probability and observed frequency"
        facts.append(("calibration error", f"{calibration_error(found.bins):.4f} ({error})"))
    facts += [(name, f"{value}: {right}") for name, value, right in words.calibration_numbers(found.calibration)]
    facts += [("", sentence) for sentence in words.describe_calibration(found.calibration)]
    app.show_facts(facts, 17)
    app.say("")
    app.tell(words.CALLED)
    rows = []
    for rule, at in words.describe_thresholds(found, cost_ratio, recall):
        precision = "-" if at.precision is None else share_text(at.precision)
        shares = (*map(share_text, (at.sensitivity, at.specificity)), precision, share_text(at.share))
        rows.append([rule, f"{at.threshold:.6g}", *shares])
    app.show_table(["threshold", "score", "sensitivity", "specificity", "precision", "called"], rows, margin=2)
    meaning = (
        "Sensitivity: share of the positives that is called; specificity: share of the negatives that is not; "
        "precision: share of the called rows that is positive; called: share of all rows."
    )
    app.tell(meaning, margin=2)
    for sentence in words.describe_promise(found):
        app.tell(sentence)
    app.say("")
    app.tell(words.SENSITIVITY)
    rows = [[f"{100 * at:g} %", share_text(value)] for at, value in found.sensitivity.items()]
    app.show_table(["specificity", "sensitivity"], rows, texts=(), margin=2)
    app.say("")
    app.tell(words.LIFT)
    rows = [[f"top {100 * at:g} %", f"{value:.2f}"] for at, value in found.lift.items()]
    app.show_table(["rows", "lift"], rows, texts=(), margin=2)
    for note in app.worries(found.auc, found.notes):
        app.warn(f"warning: {note}")
