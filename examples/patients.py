"""Write patients.csv and new-patients.csv, two made-up tables for trying the commands of docs/tool.md."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

NAMES = ["patient", "age", "sex", "cholesterol", "systolic", "smoker", "clinic", "sick"]


def write_patients(path: Path, rows: int, seed: int, first: int = 1) -> None:
    """Write a table in which age, cholesterol and smoking raise the odds of being sick; some values are missing."""
    rng = np.random.default_rng(seed)
    age = rng.normal(55, 12, rows).clip(18, 95).round()
    smoker = rng.random(rows) < 0.25
    cholesterol = rng.normal(200, 35, rows).round()
    odds = -4.4 + 0.06 * (age - 55) + 0.015 * (cholesterol - 200) + 1.1 * smoker
    sick = rng.random(rows) < 1 / (1 + np.exp(-odds - 2))
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        for i in range(rows):
            gap = rng.random() < 0.08
            writer.writerow(
                [
                    f"P{first + i:05d}",
                    int(age[i]),
                    rng.choice(["f", "m"]),
                    "" if gap else int(cholesterol[i]),
                    int(rng.normal(130, 15)),
                    "yes" if smoker[i] else "no",
                    rng.choice(["Köln", "Graz", "Łódź"]),
                    "yes" if sick[i] else "no",
                ]
            )


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    write_patients(folder / "patients.csv", 3000, seed=0)
    write_patients(folder / "new-patients.csv", 2000, seed=1, first=3001)
    print(f"wrote patients.csv and new-patients.csv in {folder.resolve()}")
