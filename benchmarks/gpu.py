"""Time fits on a GPU relative to one product X.T @ X on it. Run: python benchmarks/gpu.py [rows] [columns]

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

GOAL = 1.3
POINTS = 11


def generate(n: int, d: int, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two Gaussian classes with different means, 30 % positives, in device memory."""
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn(n, d, dtype=dtype, device="cuda", generator=generator)
    y = (torch.rand(n, device="cuda", generator=generator) < 0.3).to(torch.int64)
    shift = 0.1 * torch.randn(d, dtype=dtype, device="cuda", generator=generator)
    for start in range(0, n, 500_000):
        X[start : start + 500_000] += y[start : start + 500_000, None] * shift
    return X, y


def best(function: Callable[[], object], repeats: int = 5) -> float:
    """Return the least seconds of several runs, waiting for the device before and after each."""
    seconds = []
    for _ in range(repeats + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        function()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


def fit_and_path(X: torch.Tensor, y: torch.Tensor) -> tuple[AUCClassifier, np.ndarray]:
    """Return the default model and the coefficients of an 11-point l2 path around its l2."""
    model = AUCClassifier().fit(X, y)
    l2s = model.l2_ * np.logspace(-3, 3, POINTS)
    return model, coef_path(model.moments_, l2s, like=X)[:, 0]


def measure(n: int, d: int, dtype: torch.dtype) -> None:
    X, y = generate(n, d, dtype)
    floor = best(lambda: X.T @ X)
    model: Any
    model, coefs = fit_and_path(X, y)
    rows = {
        "X.T @ X": floor,
        "ClassMoments.from_data": best(lambda: ClassMoments.from_data(X, y)),
        "AUCClassifier.fit": best(lambda: AUCClassifier().fit(X, y)),
        f"fit and {POINTS}-point l2 path": best(lambda: fit_and_path(X, y)),
        "AUCClassifierCV.fit, 5 folds × 17 l2": best(lambda: AUCClassifierCV().fit(X, y), repeats=1),
        "decision_function": best(lambda: model.decision_function(X)),
        "score (exact AUC of all rows)": best(lambda: model.score(X, y)),
    }
    name = str(dtype).removeprefix("torch.")
    for what, seconds in rows.items():
        goal = ""
        if "path" in what and (n, d, dtype) == (4_000_000, 1_000, torch.float64):
            goal = f"≤ {GOAL} {'ok' if seconds <= GOAL * floor else 'MISSED'}"
        print(
            f"| {n:,} × {d:,} {name} | {what} | {1e3 * seconds:.1f} ms | {seconds / floor:.2f} | {goal} |", flush=True
        )
    # Check on some of the rows that the device gives the same answer as NumPy on the host.
    part = slice(0, 20_000)
    there: Any = AUCClassifier(l2=model.l2_).fit(X[part], y[part])  # its arrays are on the device
    with sklearn.config_context(array_api_dispatch=False):
        host = AUCClassifier(l2=model.l2_).fit(X[part].double().cpu().numpy(), y[part].cpu().numpy())
    error = np.linalg.norm(there.coef_.cpu().numpy() - host.coef_) / np.linalg.norm(host.coef_)
    assert error < 1e-8, f"device and host differ by {error}"
    middle = np.linalg.norm(coefs[POINTS // 2] - model.coef_.cpu().numpy()[0]) / np.linalg.norm(coefs[POINTS // 2])
    assert middle < 1e-8, f"path and fit differ by {middle}"


def main() -> None:
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, Python {platform.python_version()}\n")
    print("| data | what | best of 5 | ÷ X.T @ X | goal |\n|---|---|---|---|---|")
    sizes = [(4_000_000, 1_000), (1_000_000, 1_000), (8_000_000, 200)]
    if len(sys.argv) > 1:
        sizes = [(int(sys.argv[1]), int(sys.argv[2]))]
    with sklearn.config_context(array_api_dispatch=True):
        for n, d in sizes:
            measure(n, d, torch.float64)
            torch.cuda.empty_cache()
        measure(*sizes[0], torch.float32)


if __name__ == "__main__":
    main()
