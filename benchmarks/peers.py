"""The models that ranking quality is measured beside, each as its users would set it up for a table of mixed columns.

CatBoost, LightGBM and the explainable boosting machine come with the dependency group `quality`. Where a model reads
categories and missing values itself it is given them; the others get medians and one-hot columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from vrspam import AUCClassifierCV

BOOSTING_GRID = [
    {"learning_rate": [0.05], "max_leaf_nodes": [7, 31], "max_iter": [300]},
    {"learning_rate": [0.1], "max_leaf_nodes": [4, 15], "max_iter": [150]},
]
TREES = {"n_estimators": 500, "random_state": 0}


def text_columns(X: Any) -> list[str]:
    """The columns of a frame that do not hold numbers; none of an array."""
    if isinstance(X, np.ndarray):
        return []
    return [name for name in X if X[name].dtype.kind not in "iufb"]


def with_categories(X: Any) -> Any:
    """A frame whose text columns are of pandas' type for categories."""
    if isinstance(X, np.ndarray):
        return X
    text = text_columns(X)
    return X.assign(**{name: X[name].astype(object).where(X[name].notna(), None).astype("category") for name in text})


def in_numbers(X: Any, *, scaled: bool = False) -> Any:
    """The transformer to numbers: medians for missing values, one column for each category of ten rows or more."""
    text = text_columns(X)
    numbers = list(range(X.shape[1])) if isinstance(X, np.ndarray) else [name for name in X if name not in text]
    steps = [SimpleImputer(strategy="median", keep_empty_features=True), *([StandardScaler()] if scaled else [])]
    parts: list[Any] = [(make_pipeline(*steps), numbers)]
    if text:
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=10, sparse_output=False)
        parts.append((make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), encoder), text))
    return make_column_transformer(*parts)


def logistic(X: Any) -> Any:
    model = make_pipeline(in_numbers(X, scaled=True), LogisticRegression(class_weight="balanced", max_iter=2000))
    return GridSearchCV(model, {"logisticregression__C": 10.0 ** np.arange(-4, 3)}, scoring="roc_auc")


def boosting(X: Any) -> Any:
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)


def tuned_boosting(X: Any) -> Any:
    return GridSearchCV(boosting(X), BOOSTING_GRID, scoring="roc_auc", cv=3)


def forest(X: Any) -> Any:
    return make_pipeline(in_numbers(X), RandomForestClassifier(**TREES))


def balanced_forest(X: Any) -> Any:
    return make_pipeline(in_numbers(X), RandomForestClassifier(class_weight="balanced", **TREES))


def extra_trees(X: Any) -> Any:
    return make_pipeline(in_numbers(X), ExtraTreesClassifier(class_weight="balanced", **TREES))


def lightgbm(X: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)


def catboost(X: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=400,
        cat_features=text_columns(X),
        random_seed=0,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )


def explainable_boosting(X: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0, n_jobs=1)


def ours(**options: Any) -> Callable[[Any], Any]:
    return lambda X: AUCClassifierCV(random_state=0, **options)


MODELS: dict[str, Callable[[Any], Any]] = {
    "auto": ours(features="auto"),
    "standardized": ours(features=["standardized"]),
    "logistic": logistic,
    "boosting": boosting,
    "boosting, tuned": tuned_boosting,
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "random forest": forest,
    "random forest, balanced": balanced_forest,
    "extra trees, balanced": extra_trees,
    "EBM": explainable_boosting,
}
OURS = ("auto", "standardized")


def prepared(name: str, X: Any) -> Any:
    """The columns as the model of this name takes them."""
    if isinstance(X, np.ndarray) or name in (*OURS, "logistic", "random forest", "random forest, balanced"):
        return X
    if name == "CatBoost":  # wants text for a missing category
        return X.assign(
            **{column: X[column].astype(object).fillna("missing").astype(str) for column in text_columns(X)}
        )
    return with_categories(X) if name in ("boosting", "boosting, tuned", "LightGBM") else X


def scores(model: Any, X: Any) -> np.ndarray:
    """What the model ranks rows by."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return np.asarray(model.predict_proba(X))[:, 1]
