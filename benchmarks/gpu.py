"""Time fits on a GPU relative to one product X.T @ X on it. Run: python benchmarks/gpu.py [rows] [columns]

Each is timed three times, in turn with the product, after a run that is not counted; the goals are for the median.

Needs PyTorch, a CUDA device and the packages that vrspam depends on. The data are generated in device memory.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["SCIPY_ARRAY_API"] = "1"  # must be set before SciPy is imported
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import numpy as np
import sklearn
import torch

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, coef_path

POINTS = 11
REPEATS = 3
SIZES = [
    (4_000_000, 1_000, torch.float64),
    (1_000_000, 1_000, torch.float64),
    (8_000_000, 200, torch.float64),
    (4_000_000, 1_000, torch.float32),
]
PATH = f"fit and {POINTS}-point l2 path"
CV = "AUCClassifierCV.fit, 5 folds × 17 l2"
GOALS = {
    PATH: dict(zip(SIZES, (1.2, 1.5, 1.6, 1.25), strict=True)),
    CV: dict(zip(SIZES, (3.0, 6.0, 15.0, 3.0), strict=True)),
}


def generate(n: int, d: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two Gaussian classes with different means, 30 % positives, in device memory."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn(n, d, dtype=dtype, device="cuda", generator=generator)
    y = (torch.rand(n, device="cuda", generator=generator) < 0.3).to(torch.int64)
    shift = 0.1 * torch.randn(d, dtype=dtype, device="cuda", generator=generator)
    for start in range(0, n, 500_000):
        X[start : start + 500_000] += y[start : start + 500_000, None] * shift
    return X, y


def seconds_of(function: Callable[[], object]) -> float:
    """Return the seconds of one run, waiting for the device before and after it."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def times(function: Callable[[], object], product: Callable[[], object]) -> np.ndarray:
    """Return the seconds of some runs, and those of the product before each, sorted by their ratio."""
    function()
    product()
    found = np.array([(seconds_of(product), seconds_of(function)) for _ in range(REPEATS)])
    return found[np.argsort(found[:, 1] / found[:, 0])]


def fit_and_path(X: torch.Tensor, y: torch.Tensor) -> tuple[AUCClassifier, np.ndarray]:
    """Return the default model and the coefficients of an 11-point l2 path around its l2."""
    model = AUCClassifier().fit(X, y)
    l2s = model.l2_ * np.logspace(-3, 3, POINTS)
    return model, coef_path(model.moments_, l2s, like=X)[:, 0]


def measure(n: int, d: int, dtype: torch.dtype) -> None:
    X, y = generate(n, d, dtype)
    model: Any
    model, coefs = fit_and_path(X, y)
    functions: dict[str, Callable[[], object]] = {
        "ClassMoments.from_data": lambda: ClassMoments.from_data(X, y),
        "AUCClassifier.fit": lambda: AUCClassifier().fit(X, y),
        PATH: lambda: fit_and_path(X, y),
        CV: lambda: AUCClassifierCV().fit(X, y),
        "decision_function": lambda: model.decision_function(X),
        "score (exact AUC of all rows)": lambda: model.score(X, y),
    }
    data = f"{n:,} × {d:,} {str(dtype).removeprefix('torch.')}"
    for what, function in functions.items():
        found = times(function, lambda: X.T @ X)
        best, median, worst = found[:, 1] / found[:, 0]
        product, seconds = 1e3 * found[1]
        wanted = GOALS.get(what, {}).get((n, d, dtype))
        goal = "" if wanted is None else f"≤ {wanted:g} {'ok' if median <= wanted else 'MISSED'}"
        ratios = f"{best:.2f} | {median:.2f} | {worst:.2f}"
        print(f"| {data} | {what} | {product:.1f} ms | {seconds:.1f} ms | {ratios} | {goal} |", flush=True)
    # Check on some of the rows that the device gives the same answer as NumPy on the host.
    part = slice(0, 20_000)
    there: Any = AUCClassifier(l2=model.l2_).fit(X[part], y[part])  # its arrays are on the device
    with sklearn.config_context(array_api_dispatch=False):
        host = AUCClassifier(l2=model.l2_).fit(X[part].double().cpu().numpy(), y[part].cpu().numpy())
    error = np.linalg.norm(there.coef_.cpu().numpy() - host.coef_) / np.linalg.norm(host.coef_)
    assert error < 1e-8, f"device and host differ by {error}"
    there = AUCClassifierCV().fit(X[part], y[part])
    with sklearn.config_context(array_api_dispatch=False):
        chosen = AUCClassifierCV().fit(X[part].double().cpu().numpy(), y[part].cpu().numpy())
    of_auc = float(np.abs(there.auc_path_ - chosen.auc_path_).max())
    assert of_auc < 1e-8, f"AUCs on device and host differ by {of_auc}"
    middle = np.linalg.norm(coefs[POINTS // 2] - model.coef_.cpu().numpy()[0]) / np.linalg.norm(coefs[POINTS // 2])
    assert middle < 1e-8, f"path and fit differ by {middle}"


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {platform.python_version()}\n")
    print("| data | what | X.T @ X | time (median) | ÷ X.T @ X: best | median | worst | goal |")
    print(8 * "|---" + "|")
    sizes = SIZES
    if len(sys.argv) > 1:
        sizes = [(int(sys.argv[1]), int(sys.argv[2]), dtype) for dtype in (torch.float64, torch.float32)]
    with sklearn.config_context(array_api_dispatch=True):
        for n, d, dtype in sizes:
            measure(n, d, dtype)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
