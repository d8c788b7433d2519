"""`vrspam compare`: models and columns of scores on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.tool.plan import check_measures

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison

COLUMN = "column:"  # before the name of a column of scores, in place of a model file


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
    max_fpr = reading.pop("max_fpr")
    files = [name for name in models if not name.startswith(COLUMN)]
    with errors.misuse():
        if allow_missing is not None and not files:
            raise errors.Misuse(options.NO_MODEL)
        if allow_missing is not None:
            reading["allow_missing"] = options.names_in(allow_missing)
        if len(models) < 2:
            raise errors.Misuse("name two models or columns (column:NAME) at least, and then the table")
        check_measures(confidence=confidence)
    check_output("--picture", picture, *files, data)
    check_output("--html", html, *files, data)
    from vrspam.report.words.names import name_measure
    from vrspam.tool import compare as compare_models
    from vrspam.tool import load_model
    from vrspam.tool.evaluation import check_ranks

    with output.warnings_as_lines():
        loaded = {name: load_model(Path(name)) for name in files}
        ranks = any(model.ranks for model in loaded.values())
        measure = name_measure(loaded[files[0]].outcome) if files else "AUC"
        if picture is not None and ranks:
            raise errors.Misuse(f"--picture draws ROC curves, which models of this {measure} do not have: leave it out")
        with errors.misuse():
            for model in loaded.values():
                check_ranks(model.outcome, max_fpr=max_fpr)
        comparison = compare_models(
            *(loaded.get(name, name) for name in models),
            path=data,
            names=names_of(models),
            confidence=confidence,
            weights=weights,
            groups=groups,
            **reading,
        )
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.scores import comparison_picture

        scores = dict(zip(comparison.names, comparison.scores, strict=True))
        save_figure(comparison_picture(comparison.positive, scores, max_fpr), picture)
    partial = () if max_fpr is None else comparison.partial_pairs(max_fpr)
    from vrspam.report.pages.comparison import comparison_page

    page = comparison_page(
        comparison, data_name=output.page_name(data), partial=partial, max_fpr=max_fpr, measure=measure
    )
    if html is not None:
        page.write(html)
    if as_json:
        return output.print_json(_numbers(comparison, partial, max_fpr))
    from vrspam.cli import terminal

    terminal.show_page(page)
    terminal.show_written(picture=picture, page=html)


def names_of(models: Sequence[str]) -> list[str]:
    """Short names: those of files without their folders, where they still differ, and of columns.

    >>> names_of(["old/m.json", "new/m.json", "c.json", "column:catboost"])
    ['old/m.json', 'new/m.json', 'c.json', 'catboost']
    """
    paths = {name for name in models if not name.startswith(COLUMN)}
    files = [Path(path).name for path in paths]
    names = []
    for name in models:
        if name not in paths:
            names.append(name.removeprefix(COLUMN))
        elif files.count(Path(name).name) > 1:
            names.append(name)
        else:
            names.append(Path(name).name)
    return names


def _numbers(comparison: Comparison, partial: Any, max_fpr: float | None) -> dict[str, Any]:
    """The numbers of a comparison: flat for one pair, a list for several."""
    from vrspam.measures.compare import flat_pairs

    numbers: dict[str, Any] = {"n": comparison.positive.size, "positives": int(comparison.positive.sum())}
    if max_fpr is not None:
        numbers["max_fpr"] = max_fpr
    numbers.update(_numbers_of_pairs(flat_pairs(comparison.pairs), "", ("a", "b", "adjusted_p")))
    numbers.update(_numbers_of_pairs(flat_pairs(partial), "partial_", ("a", "b", "adjusted_p", "confidence")))
    return numbers


def _numbers_of_pairs(pairs: Sequence[dict[str, Any]], prefix: str, left_out: Sequence[str]) -> dict[str, Any]:
    """A list of several pairs; of one pair its numbers, without those that are `left_out`."""
    if not pairs:
        return {}
    if len(pairs) > 1:
        return {f"{prefix}pairs": pairs}
    return {f"{prefix}{name}": number for name, number in pairs[0].items() if name not in left_out}
