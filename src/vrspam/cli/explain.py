"""`vrspam explain`: what a model looks at."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import print_json, say

if TYPE_CHECKING:
    from vrspam.tool import Model
    from vrspam.tool.explanation import Effect


def register(app: typer.Typer) -> None:
    app.command("explain")(explain)


def explain(
    model: options.ModelFile,
    top: Annotated[int, typer.Option(min=1, help="How many features to show.")] = 20,
    picture: options.Picture = None,
    html: options.HtmlOut = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what a model looks at: the curve of each column, or coefficients on the original scale.

    The picture and the page show what each column adds to the score; pairs of columns that interact are named, and the
    page shows them as heat maps.
    The share of a feature is its part of the difference between the mean scores of the classes.

    Example:  vrspam explain patients.json --picture curves.png

    Example:  vrspam explain patients.json --html patients.html
    """
    options.check_picture(picture)
    options.check_output("--picture", picture, model)
    options.check_output("--html", html, model)
    if picture is not None:
        require("plots", "matplotlib")
    from vrspam.tool import load_model
    from vrspam.tool.explanation import describe_curves, sum_by_column
    from vrspam.tool.explanation import explain as explain_model

    loaded = load_model(model)
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.pictures import features_picture

        save_figure(features_picture(loaded), picture)
    if html is not None:
        from vrspam.tool.pages import explanation_page

        explanation_page(loaded, model_name=model.name, parameter=options.as_option).write(html)
    effects = explain_model(loaded)
    columns = dict(sum_by_column(effects))
    if as_json:
        print_json(
            {
                "positive": loaded.positive,
                "intercept": loaded.intercept,
                "features": [asdict(effect) for effect in effects],
                "columns": columns,
                "shapes": None if loaded.shapes is None else loaded.shapes.to_dict(),
            }
        )
        return
    _print_effects(loaded, effects, columns, top)
    if picture is not None:
        say(f"{picture}: {describe_curves(loaded)}")
    if html is not None:
        say(str(html))


def _print_effects(model: Model, effects: list[Effect], columns: dict[str, float], top: int) -> None:
    width = max(len("feature"), *(len(effect.feature) for effect in effects[:top]))
    if model.features is None:
        say(f"{'feature':{width}}  {'coefficient':>12}  {'one deviation':>13}  {'share':>7}")
    else:
        say(f"{'column':{width}}  {'spread':>12}  {'share':>7}")
    for effect in effects[:top]:
        if effect.coefficient is None or effect.effect is None:
            numbers = f"{'' if effect.importance is None else f'{effect.importance:.4f}':>12}"
        else:
            numbers = f"{effect.coefficient:>12.5g}  {effect.effect:>+13.4f}"
        say(f"{effect.feature:{width}}  {numbers}  {effect.share:>7.1%}")
    if len(effects) > top:
        say(f"and {len(effects) - top:,} more (--top)")
    if model.features is not None:
        say("spread: standard deviation of what the column adds to the score")
        _print_interactions(model)
        return
    say(f"{'intercept':{width}}  {model.intercept:>12.5g}")
    say("one deviation: change of the score when the feature rises by one standard deviation")
    if model.schema.categorical:
        say("")
        for column, share in list(columns.items())[:top]:
            say(f"column {column:{width}}  {share:>7.1%}")


def _print_interactions(model: Model) -> None:
    """How much of the score is no sum of curves, and which columns interact or move together."""
    from vrspam.tool.explanation import describe_pairs, describe_together

    shapes = model.shapes
    if shapes is not None and shapes.interactions is not None and shapes.whole:
        say(f"interactions: {100 * shapes.share:.1f} % of the variance of the score")
        for pair, share in describe_pairs(model):
            say(f"  {pair}  {100 * share:.1f} %")
    for remark in describe_together(model):
        say(remark)
