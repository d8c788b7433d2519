"""A promise that depends on the share of positives says so, and new rows that it cannot hold for are told apart.

For every rule of a threshold: rows from the source of training warn hardly ever, rows of another prevalence always.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from laws_support import examples, simulation_seed

from vrspam.tool import evaluate, predict, train

RULES: dict[str, Any] = {"recall": 0.8, "precision": 0.6, "alerts": 0.2, "cost_ratio": 3.0}


def draw(rng: np.random.Generator, rows: int, prevalence: float) -> pd.DataFrame:
    sick = rng.random(rows) < prevalence
    return pd.DataFrame(
        {"age": rng.standard_normal(rows) + 1.6 * sick, "dose": rng.standard_normal(rows), "sick": sick}
    )


def told(call) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught]


def about_promise(sentences: list[str]) -> bool:
    return any(
        "the threshold of the model calls" in one or "of these rows are positive, and" in one for one in sentences
    )


@pytest.mark.parametrize("rule", RULES)
def test_new_rows_of_another_prevalence_are_seen(rule, tmp_path):
    rng = np.random.default_rng(simulation_seed())
    alike = 0
    times = examples(4)
    for _ in range(times):
        model = train(draw(rng, 900, 0.33), "sick", features="linear", **{rule: RULES[rule]})
        out = Path(tmp_path) / "scores.csv"
        for prevalence in (0.33, 0.08):
            new = draw(rng, 3000, prevalence)
            by_calls = about_promise(told(lambda: predict(model, new.drop(columns="sick"), out)))  # noqa: B023
            by_labels = about_promise(told(lambda: evaluate(model, new)))  # noqa: B023
            if prevalence == 0.33:
                alike += by_calls + by_labels
            else:
                assert by_calls
                assert by_labels
    assert alike <= 1 + times // 4


@pytest.mark.parametrize("rule", RULES)
def test_a_promise_names_the_prevalence_that_it_depends_on(rule):
    rng = np.random.default_rng(0)
    table = draw(rng, 900, 0.33)
    chosen = train(table, "sick", features="linear", **{rule: RULES[rule]}).threshold
    assert chosen is not None
    assert chosen.prevalence == pytest.approx(table["sick"].mean())
    depends = rule in ("precision", "alerts")
    assert ("of the rows are positive as in training" in chosen.words) == depends
