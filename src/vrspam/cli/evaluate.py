"""`vrspam evaluate` and `vrspam compare`: models on labelled rows that they have not seen."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import err, print_json, say, warn, warnings_as_lines

if TYPE_CHECKING:
    from vrspam.metrics import DeLongTest
    from vrspam.tool.evaluation import Evaluation


def register(app: typer.Typer) -> None:
    app.command("evaluate")(evaluate)
    app.command("compare")(compare)


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    html: options.HtmlOut = None,
    confidence: options.Confidence = 0.95,
    cost_ratio: options.CostRatio = None,
    recall: Annotated[
        float, typer.Option(help="Adds the highest threshold that finds this share of the positives.")
    ] = 0.9,
    max_fpr: options.MaxFpr = None,
    weights: options.Weights = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how good a model is on labelled rows: AUC with its interval, curves, thresholds, lift, calibration.

    Use rows that the model was not trained on.

    Example:  vrspam evaluate patients.json new-patients.csv --html report.html

    Example:  vrspam evaluate patients.json new-patients.csv --cost-ratio 20 --json

    Example:  vrspam evaluate patients.json new-patients.csv --max-fpr 0.1
    """
    require("data", "pyarrow")
    options.check_share("--confidence", confidence)
    if not 0.0 < recall <= 1.0:
        raise typer.BadParameter(f"{recall:g} is not above 0 and at most 1", param_hint="--recall")
    options.check_positive("--cost-ratio", cost_ratio)
    options.check_max_fpr(max_fpr)
    if weights is not None and max_fpr is not None:
        raise typer.BadParameter("there is no interval of a partial AUC with --weights", param_hint="--max-fpr")
    read = {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    options.check_output("--html", html, model, data)
    from vrspam.tool import evaluation, load_model

    with warnings_as_lines():
        loaded = load_model(model)
        rows = evaluation.score_rows(
            loaded, data, weights=weights, skip_errors=skip_errors, progress=err.is_terminal, **read
        )
        found = evaluation.evaluate(
            loaded,
            rows.positive,
            rows.scores,
            confidence=confidence,
            cost_ratio=cost_ratio,
            recall=recall,
            max_fpr=max_fpr,
            notes=rows.notes,
            weights=rows.weights,
        )
        if html is not None:
            from vrspam.tool.pages import evaluation_page

            evaluation_page(
                loaded,
                found,
                model_name=model.name,
                data_name=Path(data).name,
                cost_ratio=cost_ratio,
                recall=recall,
                parameter=options.as_option,
            ).write(html)
    if as_json:
        print_json({**found.flat(), "warnings": list(found.notes)})
        return
    _describe(found, cost_ratio, recall)
    if html is not None:
        say(f"page               {html}")


def compare(
    model_a: options.ModelFile,
    model_b: options.ModelFile,
    data: options.Data,
    picture: options.Picture = None,
    html: options.HtmlOut = None,
    confidence: options.Confidence = 0.95,
    max_fpr: options.MaxFpr = None,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.AsJson = False,
) -> None:
    """Test whether one model ranks the same rows better than another: DeLong's paired test.

    With --max-fpr also the paired test of their partial AUCs.

    Example:  vrspam compare old.json new.json new-patients.csv --picture both.png
    """
    require("data", "pyarrow")
    options.check_share("--confidence", confidence)
    options.check_max_fpr(max_fpr)
    read = {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    options.check_picture(picture)
    options.check_output("--picture", picture, model_a, model_b, data)
    options.check_output("--html", html, model_a, model_b, data)
    if picture is not None:
        require("plots", "matplotlib")
    from vrspam.tool import evaluation, load_model

    with warnings_as_lines():
        models = load_model(model_a), load_model(model_b)
        test, positive, (a, b) = evaluation.compare(
            models, data, confidence=confidence, skip_errors=skip_errors, **read
        )
    name_a, name_b = model_a.name, model_b.name
    if model_a == model_b:
        name_b += " (again)"
    elif name_a == name_b:  # in different directories
        name_a, name_b = str(model_a), str(model_b)
    scores = {name_a: a, name_b: b}
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.pictures import comparison_picture

        save_figure(comparison_picture(positive, scores, max_fpr), picture)
    partial = None
    if max_fpr is not None:
        from vrspam.metrics import partial_auc_test

        partial = partial_auc_test(positive, a, b, max_fpr=max_fpr, confidence=confidence)
    if html is not None:
        from vrspam.tool.pages import comparison_page

        comparison_page(test, positive, scores, data_name=Path(data).name, partial=partial, max_fpr=max_fpr).write(html)
    if as_json:
        values = {**asdict(test), "n": positive.size, "positives": int(positive.sum())}
        if partial is not None:
            values["max_fpr"] = max_fpr
            values |= {f"partial_{name}": value for name, value in asdict(partial).items() if name != "confidence"}
        print_json({name: None if value != value else value for name, value in values.items()})
        return
    _describe_test(test, name_a, name_b, "AUC", f"DeLong, paired, {positive.size:,} rows")
    say(evaluation.verdict(test, name_a, name_b))
    if partial is not None and max_fpr is not None:
        part = f"up to {100 * max_fpr:g} % false positives, standardised; paired"
        _describe_test(partial, name_a, name_b, "partial AUC", part)
        say(evaluation.verdict(partial, name_a, name_b, "partial AUC"))
    for path in (picture, html):
        if path is not None:
            say(str(path))


def _describe_test(test: DeLongTest, name_a: str, name_b: str, measure: str, how: str) -> None:
    say(f"{name_a}  {measure} {test.auc_a:.4f}")
    say(f"{name_b}  {measure} {test.auc_b:.4f}")
    interval = f"{100 * test.confidence:g} % interval {test.low:+.4f} to {test.high:+.4f}"
    say(f"difference {test.difference:+.4f}, {interval}, z = {test.z:.3f}, p = {test.p_value:.3g} ({how})")


def _describe(found: Evaluation, cost_ratio: float | None, recall: float) -> None:
    from vrspam.tool.evaluation import calibration_error, describe_thresholds

    auc = found.auc
    say(f"rows               {found.n:,}, of which {found.positives:,} positive ({found.positives / found.n:.2%})")
    interval = f"{100 * auc.confidence:g} % interval {auc.low:.4f} to {auc.high:.4f}"
    say(f"AUC                {auc.auc:.4f}, {interval} ({auc.source})")
    if (part := found.partial_auc) is not None and found.max_fpr is not None:
        interval = f"{100 * part.confidence:g} % interval {part.low:.4f} to {part.high:.4f}"
        limit = f"up to {100 * found.max_fpr:g} % false positives, standardised; {part.source}"
        say(f"partial AUC        {part.auc:.4f}, {interval} ({limit})")
    say(f"average precision  {found.average_precision:.4f}")
    for specificity, sensitivity in found.sensitivity.items():
        say(f"sensitivity        {sensitivity:.4f} at specificity {100 * specificity:g} %")
    for share, lift in found.lift.items():
        say(f"lift               {lift:.2f} in the top {100 * share:g} %")
    for words, at in describe_thresholds(found, cost_ratio, recall):
        precision = "-" if at.precision is None else f"{at.precision:.4f}"
        say(
            f"threshold          {at.threshold:.6g}: sensitivity {at.sensitivity:.4f}, "
            f"specificity {at.specificity:.4f}, precision {precision}, {at.share:.2%} of rows; {words}"
        )
    if found.brier is not None:
        error = calibration_error(found.bins)
        say(f"probabilities      Brier score {found.brier:.4f}, mean calibration error {error:.4f}")
    for note in found.notes:
        warn(f"warning: {note}")
