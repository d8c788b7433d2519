"""Compare models, and columns of scores, on the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.measures.compare import Comparison
from vrspam.measures.compare import compare as compare_columns
from vrspam.measures.rows import ScoredRows
from vrspam.model.model import Model
from vrspam.tool.scored_rows import ScoredTable, score_rows
from vrspam.tool.scores import read_scores, with_all_scores

COLUMN = "column:"  # how a column of scores is told from a model


def compare(
    *models: Any,
    path: Any = None,
    target: str | None = None,
    positive: str | None = None,
    names: Sequence[str] = (),
    confidence: float = 0.95,
    weights: str | None = None,
    groups: str | None = None,
    skip_errors: bool = False,
    **reading: Any,
) -> Comparison:
    """Test by DeLong's paired test which of several models, or columns of scores, ranks the same rows better.

    A warning names values that training has not seen. Rows that lack one of the scores are left out for all.

    Parameters
    ----------
    *models : Model, or str
        Two or more, trained for the same target; they may use different columns of the file. A text such as
        ``"column:catboost"`` is a column of scores of the file. Without `path`, the last argument is the file.
    path : path, directory, pattern or list of paths; or frame
        Labelled rows, as in `score_file`.
    target, positive : str, optional
        If only columns are compared: the column of labels, and the label to rank above all others.
    names : sequence of str, optional
        What to call the models and columns.
    confidence : float in (0, 1), default=0.95
        Of the interval of the difference between the AUCs.
    weights, groups : str, optional
        Columns, as in `evaluate`: by default those of training.
    skip_errors : bool, default=False
        Leave out rows that cannot be read, instead of refusing the file.
    **reading
        As in `score_file`.

    Returns
    -------
    Comparison
        Can be unpacked into `test`, `positive` and `scores`; `pairs` has all tests, with adjusted p-values, and
        `partial_test(max_fpr)` compares the partial AUCs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import compare, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> model = train(cells[::2][["mean texture", "target"]], "target", features="linear")
    >>> new = cells[1::2].assign(radius=-cells["mean radius"])
    >>> test = compare(model, "column:radius", new).test
    >>> print(f"texture alone {test.auc_a:.2f}, radius alone {test.auc_b:.2f}, different: {test.p_value < 0.05}")
    texture alone 0.7..., radius alone 0.9..., different: True
    """
    given = list(models)
    if path is None and given:
        path = given.pop()
    if len(given) < 2:
        raise DataError("compare needs at least two models or columns of scores, and then the table")
    fitted = [one for one in given if not isinstance(one, str)]
    columns = [one.removeprefix(COLUMN) for one in given if isinstance(one, str)]
    options: dict[str, Any] = {"weights": weights, "groups": groups, "skip_errors": skip_errors, **reading}
    if fitted:
        table = _score_all(fitted, columns, path, target, positive, options)
    else:
        table, _ = read_scores(path, target, columns, positive=positive, **options)
    if table.notes:
        warn(UnseenValues(table.notes) if fitted else "; ".join(table.notes))
    keys = _keys_of(given)
    called = _distinct(names or [_usual_name(key) for key in keys])
    compared = {name: table.columns[key] for name, key in zip(called, keys, strict=True)}
    return compare_columns(compared, confidence=confidence)


def _keys_of(given: Sequence[Any]) -> list[int | str]:
    """The key of each in the table of scores: models have numbers, and columns their names."""
    keys: list[int | str] = []
    n_models = 0
    for one in given:
        if isinstance(one, str):
            keys.append(one.removeprefix(COLUMN))
        else:
            keys.append(n_models)
            n_models += 1
    return keys


def _usual_name(key: int | str) -> str:
    """What a model, or a column, is called unless the user names it."""
    return key if isinstance(key, str) else f"model {key + 1}"


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with "(again)" behind one that was there before."""
    distinct: list[str] = []
    for name in names:
        distinct.append(f"{name} (again)" if name in distinct else name)
    return distinct


def _score_all(
    models: Sequence[Model],
    columns: Sequence[str],
    path: Any,
    target: str | None,
    positive: str | None,
    options: dict[str, Any],
) -> ScoredTable:
    """Scores of models and of columns, on rows that have all of them."""
    _check_models(models, target, positive, options)
    tables = [score_rows(models[0], path, columns=columns, **options)]
    tables += [score_rows(model, path, **options) for model in models[1:]]
    of_models = [table.columns[""] for table in tables]
    if not all(np.array_equal(of_models[0].positive, rows.positive) for rows in of_models):
        raise DataError(
            "the models do not agree on which rows are positive: they were trained for different labels"
            + (", or skipped different rows" if options["skip_errors"] else "")
        )
    scores: dict[Any, np.ndarray] = {number: rows.scores for number, rows in enumerate(of_models)}
    scores |= {name: tables[0].columns[name].scores for name in columns}
    kept, lacking = with_all_scores(scores)
    same_rows = _with_all_columns(of_models)
    scored = {name: same_rows.with_scores(values) for name, values in scores.items()}
    if lacking:
        scored = {name: rows.take(kept) for name, rows in scored.items()}
    notes = [*lacking, *(note for table in tables for note in table.notes)]
    return ScoredTable(scored, tuple(dict.fromkeys(notes)), {})


def _with_all_columns(of_models: Sequence[ScoredRows]) -> ScoredRows:
    """The rows with weights, groups, ... of the first model that knows such a column."""
    rows = of_models[0]
    for other in of_models[1:]:
        lacking = {name: values for name, values in other.arrays().items() if getattr(rows, name) is None}
        rows = replace(rows, **lacking)
    return rows


def _check_models(
    models: Sequence[Model], target: str | None, positive: str | None, options: Mapping[str, Any]
) -> None:
    """Refuse models that cannot be compared: of other labels, of other pairs, of different weights or groups."""
    first = models[0]
    for option, asked, known in (("target", target, first.schema.target), ("positive", positive, first.positive)):
        if asked is not None and str(asked) != str(known):
            own, wrong = Fix(option, known), Fix(option, asked)
            raise DataError("the model was trained for ", own, ": leave ", wrong, " out, or compare columns alone")
    for option in ("event", "times", "order", "within"):
        if len({model.training.get(option) for model in models}) > 1:
            raise DataError(
                f"the models compare different pairs of rows ({option} differs): compare models of the same pairs"
            )
    for option in ("weights", "groups"):
        names = list(dict.fromkeys(model.training[option] for model in models if model.training.get(option)))
        if options[option] is None and len(names) > 1:
            several = " and ".join(names)
            sentence = f"the models were trained with different {option} ({several}): name one, such as "
            raise DataError(sentence, Fix(option, names[0]))
