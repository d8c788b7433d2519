"""
An experiment that is killed and goes on
========================================

A long experiment must survive a crash or a power cut. One learns that ``vrspam reproduce`` can be killed at any
moment: each run is stored in one file, whole or not at all, and the same command goes on with what is missing.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

folder = Path(tempfile.mkdtemp()) / "results"
command = [sys.executable, "-m", "vrspam.cli", "reproduce", "--sets", "breast-cancer", "--runs", "4", "--jobs", "1"]
command += ["--algorithms", "exact-L2,VRSPAM-L2,SPAM-L2", "--scaling", "standardised", "--out", str(folder)]

# %%
# Kill it
# -------
# Four random splits of one set: 4 choices of a penalty and 12 trained models, so 16 runs. After about eight the
# process is killed (SIGKILL, which no program can catch).

beginning = time.monotonic()
stored: list[tuple[float, int]] = []


def watch(process: subprocess.Popen, stop_at: int) -> set[Path]:
    """Count the stored runs until the process ends, or until there are `stop_at` of them; return their files."""
    while True:
        found = set(folder.glob("rows/*.parquet"))
        if not stored or stored[-1][1] != len(found):
            stored.append((time.monotonic() - beginning, len(found)))
        if process.poll() is not None or len(found) >= stop_at:
            return found
        time.sleep(0.02)


process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
watch(process, stop_at=8)
process.kill()
process.wait()
killed = time.monotonic() - beginning
time.sleep(0.5)  # its worker ends too
before = {path: path.read_bytes() for path in folder.glob("rows/*.parquet")}
print(f"killed with {len(before)} runs stored, report written: {(folder / 'report.html').exists()}")

# %%
# The same command again
# ----------------------

process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
last = watch(process, stop_at=100)
print(process.communicate()[0].splitlines()[0])
same = all(path.read_bytes() == content for path, content in before.items())
print(f"{len(last)} runs stored; files of the first attempt unchanged: {same}")
print(f"report written: {(folder / 'report.html').exists()}")

_, ax = plt.subplots(figsize=(8, 4), layout="constrained")
ax.step(*zip(*stored, (time.monotonic() - beginning, len(last)), strict=True), where="post")
ax.axvline(killed, color="tab:red", linestyle="--", label="killed, and started again")
ax.set(xlabel="seconds", ylabel="runs stored", ylim=(0, None))
ax.legend(loc="upper left")
plt.show()

# %%
# The table is made from the stored rows alone: mean test AUC beside that of the exact optimum.

print(pd.read_csv(folder / "table.csv")[["algorithm", "mean", "std", "runs", "optimum_mean"]].to_string(index=False))
