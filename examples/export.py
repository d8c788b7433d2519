"""Write one model as ONNX, plain Python and SQL, and score the same rows with each.

Run: python examples/export.py (needs the extras data and onnx)
"""

import runpy
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd

from vrspam.tool import export_model, score_file, train

write_patients = runpy.run_path(str(Path(__file__).with_name("patients.py")))["write_patients"]


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    write_patients(folder / "patients.csv", 1000, seed=0)
    model = train(folder / "patients.csv", "sick", "yes", features="additive")
    names = {"onnx": folder / "patients.onnx", "python": folder / "scorer.py", "sql": folder / "scorer.sql"}
    for path in export_model(model, **names, dtype="float64"):
        print(f"{path.name}: {path.stat().st_size:,} bytes")

    write_patients(folder / "new-patients.csv", 500, seed=1, first=1001)
    rows = pd.read_csv(folder / "new-patients.csv")
    _, ours = score_file(model, folder / "new-patients.csv")
    session = onnxruntime.InferenceSession(names["onnx"])
    feeds = {}
    for one in session.get_inputs():
        is_text = one.type == "tensor(string)"
        feeds[one.name] = rows[[one.name]].fillna("").to_numpy(object) if is_text else rows[[one.name]].to_numpy(float)
    graph = session.run(["score"], feeds)[0]

    scorer = runpy.run_path(str(names["python"]))
    plain = [scorer["score"](row) for row in rows.to_dict("records")]

    with sqlite3.connect(":memory:") as database:
        rows.to_sql("patients", database, index=False)
        query = f"SELECT ({names['sql'].read_text('utf-8')}) AS score FROM patients"
        in_sql = [score for (score,) in database.execute(query)]

    for title, scores in (("onnxruntime", graph), ("plain Python", plain), ("SQLite", in_sql)):
        difference = np.abs(np.array(scores) - ours).max() / ours.std()
        print(f"{title:13} differs by {difference:.0e} of the spread of the scores")


if __name__ == "__main__":
    main()
