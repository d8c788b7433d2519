"""Names of other packages that are not public: few, in one place each, and everything works without them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import vrspam
from vrspam._utils import blas
from vrspam._utils.parameters import links_to_documentation
from vrspam.kernels.compiling import _CacheFile

SOURCE = Path(vrspam.__file__).parent
ALLOWED = {
    ("_utils/array_api.py", "sklearn.utils._array_api"),  # the library of an array
    ("kernels/compiling.py", "numba.core.caching"),  # the disk cache
    ("kernels/prefetch.py", "llvmlite"),  # cache lines asked for ahead of time
}


def private_imports(path: Path) -> list[str]:
    """Modules of other packages that a file imports although they, or the names taken from them, are not public."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names, modules = [alias.name for alias in node.names], [node.module]
        elif isinstance(node, ast.Import):
            names, modules = [], [alias.name for alias in node.names]
        else:
            continue
        for module in modules:
            parts = module.split(".")
            hidden = any(part.startswith("_") for part in [*parts, *names]) or parts[:2] == ["numba", "core"]
            if parts[0] not in ("vrspam", "__future__") and (hidden or parts[0] == "llvmlite"):
                found.append(module)
    return found


def test_private_names_of_other_packages_are_few():
    found = {
        (path.relative_to(SOURCE).as_posix(), name) for path in SOURCE.rglob("*.py") for name in private_imports(path)
    }
    assert found == ALLOWED


PROGRAM = """
import builtins, importlib.util, json, sys
import numpy as np

real = builtins.__import__

def without_private_names(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or {}).get("__name__", "")
    if importer.startswith("vrspam") and name in sys.argv[1:]:
        raise ImportError(name)
    return real(name, globals, locals, fromlist, level)

builtins.__import__ = without_private_names

from scipy import sparse
import sklearn
from vrspam import AUCClassifier, VRSPAMClassifier, kernels

rng = np.random.default_rng(0)
X = rng.standard_normal((120, 6))
y = (X[:, 0] + rng.standard_normal(120) > 0).astype(int)
rows = sparse.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0))
models = [
    AUCClassifier(l2=0.1, l1=0.01).fit(X, y),
    VRSPAMClassifier(l2=0.1, random_state=0).fit(rows, y),
    VRSPAMClassifier(l2=0.1, l1=0.01, random_state=0).fit(rows, y),
]
if importlib.util.find_spec("array_api_strict"):
    import array_api_strict as xp
    with sklearn.config_context(array_api_dispatch=True):
        models.append(AUCClassifier(l2=0.1).fit(xp.asarray(X), xp.asarray(y)))
        assert isinstance(models[-1].decision_function(xp.asarray(X)), type(xp.asarray(X)))
cached = hasattr(kernels.svrg_epoch._cache, "_cache_file")
print(json.dumps([cached, [np.asarray(model.coef_).ravel().tolist() for model in models]]))
"""


def test_everything_works_without_them(tmp_path):
    """They are made to vanish for this package alone: Numba and scikit-learn need their own."""
    results = []
    for vanished, own in (([], {}), (sorted(name for _, name in ALLOWED), {"NUMBA_CACHE_DIR": str(tmp_path)})):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM, *vanished],
            capture_output=True,
            text=True,
            timeout=600,
            env={**os.environ, "SCIPY_ARRAY_API": "1", **own},
        )
        assert done.returncode == 0, done.stderr
        results.append(json.loads(done.stdout))
    (with_them, expected), (without, found) = results
    assert (with_them, without) == (True, False)
    assert not list(tmp_path.rglob("*.nbc"))
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)


ATTRIBUTES = {  # of other packages, and where there is a way to do without
    "kernels/compiling.py": {
        *("_cache_path", "_impl", "_index_name", "_save_data", "_save_index"),  # and `_load_index`, which it overrides
        *("_source_stamp", "_version"),
    },
}
OF_PYTHON = {"_asdict", "_fields", "_replace", "_exit", "_getframe"}


def test_private_attributes_of_other_packages_are_few():
    """Names with an underscore that are read somewhere and that nothing in the package defines."""
    defined, used = set(OF_PYTHON), set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                defined.add(node.id)
            elif isinstance(node, ast.alias):
                defined.add(node.asname or node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                defined.add(node.attr)
            elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                used.add((path.relative_to(SOURCE).as_posix(), node.attr))
    assert {(path, name) for path, name in used if name not in defined} == {
        (path, name) for path, names in ATTRIBUTES.items() for name in names
    }


def test_without_the_inner_names_of_its_cache_nothing_is_kept():
    file = _CacheFile.__new__(_CacheFile)
    file.save("key", "data")
    assert vars(file) == {}


def test_estimators_need_no_links_to_pages():
    class Plain:
        """An estimator of a scikit-learn without such links."""

        _get_doc_link: Callable[[], str]

    assert links_to_documentation(Plain)()._get_doc_link() == ""


def test_threads_are_limited_without_the_inner_method_of_threadpoolctl(monkeypatch):
    library = SimpleNamespace(num_threads=3, set_num_threads=lambda threads: set_to.append(threads))
    set_to: list[int] = []
    monkeypatch.setattr(blas, "_libraries", lambda: SimpleNamespace(lib_controllers=[library]))
    with blas.blas_threads(1):
        assert set_to == [1]
    assert set_to[-1] == 3
