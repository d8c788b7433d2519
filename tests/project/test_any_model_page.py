"""The examples of docs/any_model.md for packages that this one does not need run where these are installed."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "any_model.md").read_text("utf-8")
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if ">>>" not in block]


@pytest.mark.parametrize("package", ["catboost", "xgboost"])
def test_an_example_runs(package, tmp_path, monkeypatch, capsys):
    pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    (block,) = (block for block in BLOCKS if package in block)
    exec(block, {})
    assert "CorrectedAUC(auc=0.9" in capsys.readouterr().out
