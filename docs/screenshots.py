"""Make the pictures of the README and of docs/report.md: `make screenshots`. Needs chromium."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image  # comes with matplotlib

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from browsing import CHROMIUM_FLAGS, find_chromium  # noqa: E402


def main() -> None:
    chromium = find_chromium() or sys.exit("No chromium is installed: the pictures are taken by it")
    write_patients = runpy.run_path(str(DOCS.parent / "examples" / "patients.py"))["write_patients"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_patients(folder / "patients.csv", 3000, seed=0)
        command = ["report", str(folder / "patients.csv"), "--target", "sick", "--html", str(folder / "report.html")]
        subprocess.run([sys.executable, "-m", "vrspam.cli", *command], check=True)
        page = (folder / "report.html").as_uri()
        profile = f"--user-data-dir={folder / 'profile'}"
        picture = folder / "report.png"
        size = ["--hide-scrollbars", "--window-size=1280,1240"]
        subprocess.run([chromium, *CHROMIUM_FLAGS, *size, profile, f"--screenshot={picture}", page], check=True)
        Image.open(picture).convert("RGB").quantize(200).save(DOCS / picture.name, optimize=True)  # half the size
        draw_curves(folder / "patients.csv", folder / "curves.png")
        Image.open(folder / "curves.png").convert("RGB").quantize(100).save(DOCS / "curves.png", optimize=True)


def draw_curves(table: Path, picture: Path) -> None:
    """What the three columns that matter most add to the score."""
    import pandas as pd

    from vrspam import AUCClassifierCV
    from vrspam.plotting import plot_shapes

    frame = pd.read_csv(table)
    X, y = frame.drop(columns=["patient", "sick"]), frame["sick"] == "yes"
    model = AUCClassifierCV(features="additive", random_state=0).fit(X, y)
    plot_shapes(model, most=3).savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
