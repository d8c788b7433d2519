"""`vrspam compare`: models and columns of scores on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.tool.plan import check_measures
from vrspam.tool.typed_values import read_names

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison


@options.with_options("target", "positive", "max_fpr", *options.READING, "skip_errors")
def compare(
    models: Annotated[
        list[str],
        typer.Argument(help="Two or more: model files, or column:NAME for columns of scores of the table."),
    ],
    data: options.Data,
    picture: options.Picture = None,
    html: options.HtmlOut = None,
    confidence: options.Confidence = 0.95,
    weights: options.Weights = None,
    groups: options.Groups = None,
    allow_missing: options.AllowMissing = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Test whether one model ranks the same rows better than another: DeLong's paired test.

    With --max-fpr also the paired test of their partial AUCs.

    More than two are compared in pairs, with p-values adjusted for their number.

    Example:  vrspam compare old.json new.json new-patients.csv --picture both.png

    Example:  vrspam compare old.json column:catboost new-patients.csv

    Example:  vrspam compare column:catboost column:xgboost scored.csv --target sick
    """
    require("data", "pyarrow")
    reading = options.read_options(given)
    files = [one for one in models if not one.startswith("column:")]
    max_fpr = reading.pop("max_fpr")
    with errors.misuse():
        if allow_missing is not None and not files:
            raise errors.Misuse(options.NO_MODEL)
        if allow_missing is not None:
            reading["allow_missing"] = read_names(allow_missing)
        if len(models) < 2:
            raise errors.Misuse("name two models or columns (column:NAME) at least, and then the table")
        check_measures(confidence=confidence)
    check_output("--picture", picture, *files, data)
    check_output("--html", html, *files, data)
    from vrspam.report.words.names import name_measure
    from vrspam.tool import compare as compare_models
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import check_ranks

    short = [Path(name).name for name in files]
    names = {name: name if short.count(Path(name).name) > files.count(name) else Path(name).name for name in files}
    with output.warnings_as_lines():
        loaded = {name: load_model(Path(name)) for name in files}
        ranks = any(model.ranks for model in loaded.values())
        measure = name_measure(loaded[files[0]].outcome) if files else "AUC"
        if picture is not None and ranks:
            raise errors.Misuse(f"--picture draws ROC curves, which models of this {measure} do not have: leave it out")
        with errors.misuse():
            for model in loaded.values():
                check_ranks(model.outcome, max_fpr=max_fpr)
        reading |= {"confidence": confidence, "weights": weights, "groups": groups}
        reading["names"] = [names.get(name, name.removeprefix("column:")) for name in models]
        found = compare_models(*(loaded.get(name, name) for name in models), path=data, **reading)
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.scores import comparison_picture

        drawn = dict(zip(found.names, found.scores, strict=True))
        save_figure(comparison_picture(found.positive, drawn, max_fpr), picture)
    partial = () if max_fpr is None else found.partial_pairs(max_fpr)
    from vrspam.report.pages.comparison import comparison_page

    tests: dict[str, Any] = {"partial": partial, "max_fpr": max_fpr, "measure": measure}
    page = comparison_page(found, data_name=output.page_name(data), **tests)
    if html is not None:
        page.write(html)
    if as_json:
        return output.print_json(_comparison_numbers(found, partial, max_fpr))
    from vrspam.cli import terminal

    terminal.show_page(page)
    terminal.show_written(picture=picture, page=html)


def _comparison_numbers(found: Comparison, partial: Any, max_fpr: float | None) -> dict[str, Any]:
    """The numbers of a comparison: flat for one pair, a list for several."""
    from vrspam.measures.compare import flat_pairs

    values: dict[str, Any] = {"n": found.positive.size, "positives": int(found.positive.sum())}
    values |= {} if max_fpr is None else {"max_fpr": max_fpr}
    for prefix, pairs in (("", flat_pairs(found.pairs)), ("partial_", flat_pairs(partial))):
        if len(pairs) > 1:
            values[f"{prefix}pairs"] = pairs
        elif pairs:  # flat, without the names
            left_out = ("a", "b", "adjusted_p", "confidence" if prefix else "")
            values |= {f"{prefix}{key}": value for key, value in pairs[0].items() if key not in left_out}
    return values
