"""What the commands give for each table, as numbers and words that can be compared.

`python -m tests.golden.golden_runs` renews numbers.json, words.json, names.json and options.json. A number that is
within the tolerance of the comparison stays as it was recorded, so that the difference of the files shows what moved
and nothing else. Do that only in a commit that does nothing else and says why the values changed.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import math
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]

from golden_tables import TABLES, Table  # noqa: E402
from public_rooms import ROOMS  # noqa: E402

from vrspam._utils.extras import MissingExtra  # noqa: E402
from vrspam.cli import main  # noqa: E402

TOLERANCE = 1e-10
# Certificates and objectives near 0 are sums of rounding errors; they are bounded, not compared.
ROUNDING = ("gap", "relative_gap", "stationarity", "relative_stationarity")
SHOWN = 6  # rows of a prediction that are kept one by one
LONG = 4  # numbers in a list from which only sums are kept
VOLATILE = ("page", "seconds", "file", "path", "model", "data", "out", "written", "html", "onnx", "python", "sql")


def run_json(*arguments: Any) -> Any:
    """The JSON that a command prints."""
    said, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
        code = main([*map(str, arguments), "--json"])
    if code != 0:
        raise AssertionError(f"{arguments} ended with {code}: {complained.getvalue()}")
    folder = str(Path(arguments[1]).parent)
    return json.loads(said.getvalue().replace(json.dumps(folder)[1:-1], "..."))


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """The numbers and texts of a JSON document by their place in it.

    >>> flat({"a": [1, {"b": "x"}], "file": "m.json"})
    {'a.0': 1, 'a.1.b': 'x'}
    """
    if isinstance(value, Mapping):
        parts = [(key, part) for key, part in value.items() if key not in VOLATILE]
    elif isinstance(value, list) and len(value) > LONG and all(isinstance(part, int | float | None) for part in value):
        numbers = np.array([0.0 if part is None else part for part in value])
        weights = np.cos(np.arange(numbers.size))
        parts = [("length", numbers.size), ("sum", float(numbers @ weights)), ("sizes", float(np.abs(numbers).sum()))]
    elif isinstance(value, list):
        parts = [(str(place), part) for place, part in enumerate(value)]
    else:
        return {path: value}
    found: dict[str, Any] = {}
    for key, part in parts:
        found |= flat(part, f"{path}.{key}" if path else str(key))
    return found


def describe_scores(scores: np.ndarray) -> dict[str, float]:
    """A few scores one by one, and sums in which each row has a weight of its own."""
    scores = np.asarray(scores, dtype=np.float64)
    given = np.isfinite(scores)
    weights = np.cos(np.arange(scores.size))
    shown = {str(place): float(scores[place]) for place in range(min(SHOWN, scores.size)) if given[place]}
    return {
        **shown,
        "rows": float(given.sum()),
        "sum": float(scores[given] @ weights[given]),
        "spread": float(scores[given].std()),
    }


def run_table(table: Table, folder: Path) -> dict[str, Any]:
    """Everything the commands say of one table."""
    data, new = table.files(folder)
    model, scores = folder / "model.json", folder / "scores.csv"
    found = {"train": flat(run_json("train", data, *table.train, *table.reading, "--model", model))}
    found["evaluate"] = flat(run_json("evaluate", model, new, *table.reading))
    found["predict"] = flat(run_json("predict", model, new, *table.reading, "--out", scores))
    predicted = pd.read_csv(scores)
    for column in ("score", "probability"):
        if column in predicted:
            found["predict"] |= flat(describe_scores(predicted[column].to_numpy()), column)
    found["explain"] = flat(run_json("explain", model))
    if table.report:
        page = folder / "page.html"
        found["report"] = flat(run_json("report", data, *table.train, *table.reading, "--html", page, "--rows", 3))
    exported = {name: folder / f"scorer.{name}" for name in table.exports}
    run_json("export", model, *(part for name, path in exported.items() for part in (f"--{name}", path)))
    if "python" in exported:
        found["export"] = score_by_python(exported["python"])
    return found


class _Asked(dict):
    """A row in which every value is missing; remembers which columns were asked for."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}

    def __missing__(self, name: str) -> None:
        self.names[name] = None

    def __contains__(self, name: object) -> bool:
        return True


def score_by_python(path: Path) -> dict[str, float]:
    """Scores by the plain Python that was exported: all values missing, then one number, date or text at a time."""
    space: dict[str, Any] = {}
    exec(compile(path.read_text("utf-8"), str(path), "exec"), space)
    asked = _Asked()
    found = {"missing": float(space["score"](asked))}
    for name in asked.names:
        for value in (1.5, 40.0, date(2022, 5, 17), "basic", "Köln"):
            with contextlib.suppress(TypeError, ValueError, AttributeError):  # a date where a number belongs
                found[f"{name}={value}"] = float(space["score"](dict.fromkeys(asked.names) | {name: value}))
    return found


def public_surface() -> dict[str, dict[str, str] | None]:
    """The parameters of every public name, with their defaults where these are plain values."""
    found: dict[str, dict[str, str] | None] = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            try:
                parameters = inspect.signature(getattr(module, name)).parameters.values()
            except MissingExtra:
                continue
            except (TypeError, ValueError):
                found[f"{room}.{name}"] = None
                continue
            plain = (int, float, str, tuple, type(None))
            found[f"{room}.{name}"] = {
                str(one).split(":")[0].split("=")[0].strip(): repr(one.default)
                if isinstance(one.default, plain)
                else ""
                for one in parameters
            }
    return found


def command_options() -> dict[str, Any]:
    """The options of every command with their defaults."""
    from typer.main import get_command

    from vrspam.cli.app import app

    root: Any = get_command(app)
    found = {}
    for name in list(root.commands):
        _, command, _ = root.resolve_command(root.make_context("vrspam", [name], resilient_parsing=True), [name])
        for option in command.params:
            spelled = "/".join([*option.opts, *option.secondary_opts])
            default = getattr(option.default, "value", option.default)
            found[f"{name} {spelled}"] = default if isinstance(default, int | float | str | None) else str(default)
    return found


def split_words(found: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Numbers, truths and gaps; and texts."""
    numbers = {place: value for place, value in found.items() if not isinstance(value, str)}
    return numbers, {place: value for place, value in found.items() if isinstance(value, str)}


def differs(new: Any, old: Any, size: float, tolerance: float = TOLERANCE) -> bool:
    """Whether a number is another than the recorded one; `size` is that of numbers which may lie near 0."""
    if new is None or old is None or isinstance(old, bool):
        return new is not old
    return not math.isclose(new, old, rel_tol=tolerance, abs_tol=tolerance * size)


def moved(table: Table, command: str, place: str, new: Any, old: Any, spread: float) -> bool:
    """Whether a number of a command moved beyond its tolerance; `spread` is that of the table's recorded scores."""
    if place.rpartition(".")[2] in ROUNDING and new is not None and old is not None:
        return new > max(10.0 * old, 1e-12)
    # scores and their curves have the unit of the table's scores
    return differs(new, old, spread, table.explained if command == "explain" else TOLERANCE)


def renew(table: Table, numbers: dict[str, dict[str, Any]], recorded: dict[str, dict[str, Any]]) -> dict[str, dict]:
    """The numbers of each command, each as it was recorded if it did not move."""
    spread = recorded.get("predict", {}).get("score.spread", 0.0)
    renewed = {}
    for command, found in numbers.items():
        kept = recorded.get(command, {})
        renewed[command] = {
            place: kept[place] if place in kept and not moved(table, command, place, new, kept[place], spread) else new
            for place, new in found.items()
        }
    return renewed


def write_json(name: str, value: Any) -> None:
    (FOLDER / name).write_text(json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8")


def read_json(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def record() -> None:
    """Renew all golden values."""
    recorded = read_json("numbers.json")
    numbers, words = {}, {}
    for table in TABLES:
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found = run_table(table, Path(folder))
        split = {command: split_words(values) for command, values in found.items()}
        new_numbers = {command: parts[0] for command, parts in split.items()}
        numbers[table.name] = renew(table, new_numbers, recorded.get(table.name, {}))
        words[table.name] = {command: parts[1] for command, parts in split.items()}
        print(f"{table.name:24s} {time.perf_counter() - started:.1f} s", flush=True)
    write_json("numbers.json", numbers)
    write_json("words.json", words)
    write_json("names.json", public_surface())
    write_json("options.json", command_options())


if __name__ == "__main__":
    record()
