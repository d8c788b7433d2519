"""Tables of patients for the tests of the commands: deliberately awkward, with known causes of illness."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from vrspam.data import Schema
from vrspam.data.open import open_stream, open_table
from vrspam.inspection import Shape
from vrspam.model.facts import Certificate, ColumnFacts, MeasuredAUC, TrainingFacts
from vrspam.model_selection.calibration import Sigmoid
from vrspam.tool import Model, TrainPlan
from vrspam.tool.request import table_request
from vrspam.tool.score_parts import parts_of_lines

NAMES = ["patient", "größe", "age", "cholesterol, mg/dl", "town", "ward", "sick"]


def patients(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    """Numbers with gaps, categories, an identifier, a constant, non-ASCII names and a comma in one."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.25
    cholesterol = np.round(rng.normal(200, 30, rows) + 15 * sick, 1)
    cholesterol[rng.random(rows) < 0.1] = np.nan
    values = [
        [f"P{number:05d}" for number in range(rows)],
        np.round(rng.normal(170, 10, rows)),
        np.round(rng.normal(55, 12, rows) + 10 * sick, 1),
        cholesterol,
        np.where(sick & (rng.random(rows) < 0.5), "Köln", rng.choice(["Graz", 'Łódź "old"', "Köln"], rows)),
        np.full(rows, 7),
        np.where(sick, "yes", "no"),
    ]
    return pd.DataFrame(dict(zip(NAMES, values, strict=True)))


def open_planned(path: Any, plan: TrainPlan, **reading: Any) -> Any:
    """The table that a plan asks for; a stream with `streaming`."""
    if plan.streaming:
        return open_stream(path, table_request(plan))
    return open_table(path, table_request(plan), **reading)


def write(frame: pd.DataFrame, path: Path) -> Path:
    """As Parquet, or as a Windows CSV (CRLF, quotes where needed), packed if the name says so."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
        return path
    text = io.StringIO()
    frame.to_csv(text, index=False, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    data = text.getvalue().encode("utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def write_libsvm(path: Path, rows: int = 300, features: int = 8, seed: int = 0) -> Path:
    """Labels -1 and +1, a few values in each row."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(rows):
        label = int(rng.random() < 0.3)
        values = rng.standard_normal(features) + label * np.linspace(0, 1, features)
        chosen = np.flatnonzero(rng.random(features) < 0.6)
        lines.append(f"{'+1' if label else '-1'} " + " ".join(f"{j + 1}:{values[j]:.4f}" for j in chosen))
    path.write_text("\n".join(lines) + "\n")
    return path


def make_facts(means, deviations, **changes) -> TrainingFacts:
    """Facts about a training that there was not, with some changed; class means and deviations of the features."""
    facts: dict[str, Any] = {
        "data": ("patients.csv",),
        "rows": 400,
        "positives": 100,
        "columns": len(deviations),
        "features": len(deviations),
        "rows_held": 0,
        "map": "linear",
        "selection": (),
        "nonzero": len(deviations),
        "loss": "squared",
        "l2": 0.1,
        "l1": 0.0,
        "penalty": "elasticnet",
        "folds": 5,
        "cv_auc": MeasuredAUC(0.1 + 0.2, 0.2, 0.4),
        "corrected_auc": MeasuredAUC(None, None, None),
        "certificate": Certificate("gap", None, None),
        "warnings": ("naïve",),
        "of_columns": ColumnFacts(means, deviations),
    }
    return TrainingFacts(**{**facts, **changes})


def with_facts(model: Model, **changes) -> Model:
    """A trained model with some of its facts changed."""
    assert model.facts is not None
    return replace(model, facts=replace(model.facts, **changes))


def flat_curve(size: int, **changes) -> Shape:
    """The curve of a column that adds nothing, with so many values."""
    zeros = np.zeros(size)
    curve = Shape("age", np.arange(float(size)), zeros, zeros, zeros, missing=None, importance=1.0)
    return curve._replace(**changes)


def make_model(coef=(0.1, -2.5e-300), intercept=1 / 3, *, means=None, deviations=None, facts=None, **changes):
    """A linear model without a file, with some parts changed."""
    coef = np.array(coef, dtype=float)
    d = coef.size
    schema = Schema(
        tuple(f"größe {j}" for j in range(d)), {}, (0.1,) * d, "sick", "string", ("no", "yes"), identifiers=("patient",)
    )
    schema = changes.pop("schema", schema)
    means = np.vstack([coef, coef + 1e-5]) if means is None else means
    deviations = np.abs(coef) + 5e-324 if deviations is None else deviations
    fields = {
        "schema": schema,
        "positive": "yes",
        "parts": parts_of_lines(schema, coef),
        "intercept": intercept,
        "calibration": Sigmoid(2.5, -0.1),
        "facts": make_facts(means, deviations, **(facts or {})),
    }
    return Model(**{**fields, **changes})
