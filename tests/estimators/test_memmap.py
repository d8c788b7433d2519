"""Files mapped into memory are fitted without being loaded: a limit on private memory would stop a copy."""

import subprocess
import sys

import numpy as np
import pytest

PROGRAM = r"""
import re, resource, sys, warnings
import numpy as np
import vrspam

path, name = sys.argv[1:]
warnings.simplefilter("ignore")
X = np.load(path, mmap_mode="r")
y = np.arange(len(X)) % 3 == 0
model = getattr(vrspam, name)(**({"max_iter": 2, "random_state": 0} if name == "VRSPAMClassifier" else {}))
model.fit(X[:20_000], y[:20_000])  # compiled code, threads, buffers of blocks

with open("/proc/self/status") as status:
    used = 1024 * int(re.search(r"VmData:\s+(\d+)", status.read()).group(1))
resource.setrlimit(resource.RLIMIT_DATA, (used + X.nbytes // 2,) * 2)
model.fit(X, y)
print("fitted", model.coef_.shape)
"""


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    path = tmp_path_factory.mktemp("mapped") / "X.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(800_000, 40))  # 256 MB
    block = np.random.default_rng(0).standard_normal((10_000, 40))
    for start in range(0, 800_000, 10_000):
        X[start : start + 10_000] = block
    X.flush()
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="limits private memory by Linux's RLIMIT_DATA")
@pytest.mark.parametrize("name", ["VRSPAMClassifier", "AUCClassifier"])
def test_fit_copies_nothing(mapped, name):
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(mapped), name], capture_output=True, text=True)
    assert "fitted (1, 40)" in done.stdout, done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="limits private memory by Linux's RLIMIT_DATA")
def test_the_limit_would_stop_a_copy(mapped):
    program = PROGRAM.replace("model.fit(X, y)\nprint", "model.fit(np.array(X), y)\nprint")
    command = [sys.executable, "-c", program, str(mapped), "AUCClassifier"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "MemoryError" in done.stderr
