"""Every public name is documented: a sentence, each parameter by its name, what comes back, an example that runs.

The examples themselves run as doctests; here it is checked that they are there.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
from typing import Any

import numpy as np
import pytest
from helpers import make_data
from public_rooms import documented, has_docstring, public_names, public_thing, sections
from sklearn.base import clone

import vrspam
from vrspam import features

NAMES = [name for name in public_names() if not name.endswith("__version__")]


def parameters_of(thing: Any) -> list[str]:
    """Names of the parameters that a caller may give."""
    if getattr(thing, "_is_protocol", False) or (inspect.isclass(thing) and issubclass(thing, Exception)):
        return []
    try:
        names = list(inspect.signature(thing).parameters)
    except ValueError:  # a class without parameters that is not written in Python
        return []
    return [name for name in names if name not in ("self", "cls", "_cls") and not name.startswith("_")]


def is_record(thing: Any) -> bool:
    """A class whose parameters are its attributes, which are explained there."""
    return inspect.isclass(thing) and (hasattr(thing, "__dataclass_fields__") or hasattr(thing, "_fields"))


def undocumented(thing: Any) -> list[str]:
    parts = sections(thing.__doc__ or "")
    known = set(documented(parts.get("Parameters", "")))
    if is_record(thing):
        known |= set(documented(parts.get("Attributes", "")))
    return [name for name in parameters_of(thing) if name not in known]


def test_docstrings_are_read_as_written():
    def function(a, b=1, *rest, c, **more):
        """Do something.

        Parameters
        ----------
        a, b : int
            Numbers: one, and another.
        *rest, c
            Others.

        Returns
        -------
        int
        """

    parts = sections(function.__doc__ or "")
    assert parts[""] == "Do something.\n\n"
    assert list(documented(parts["Parameters"])) == ["a", "b", "rest", "c"]
    assert undocumented(function) == ["more"]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_documented(name):
    thing = public_thing(name)
    if not has_docstring(thing):
        return
    docstring = thing.__doc__
    assert docstring, "it has no docstring"
    parts = sections(docstring)
    assert parts[""].split("\n\n")[0].strip().endswith((".", ":")), "it does not begin with a sentence"
    assert undocumented(thing) == []
    assert ">>>" in parts.get("Examples", ""), "it has no example"
    if inspect.isroutine(thing):
        returned = inspect.signature(thing).return_annotation
        if returned not in (None, "None"):
            assert "Returns" in parts or "Yields" in parts, "it does not say what it returns"


def unknown_in_example(docstring: str) -> set[str]:
    """Names that an example uses without making or importing them."""
    source = "".join(example.source for example in doctest.DocTestParser().get_examples(docstring))
    nodes = list(ast.walk(ast.parse(source)))
    names = [node for node in nodes if isinstance(node, ast.Name)]
    known = {node.id for node in names if isinstance(node.ctx, ast.Store)} | set(dir(builtins))
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            known |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - known


def test_what_an_example_uses_is_found():
    example = ">>> import numpy as np\n>>> x = [f(y) for y in np.ones(2)]\n>>> print(x, z)"
    assert unknown_in_example(example) == {"f", "z"}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_whole(name):
    """It runs where it is copied to: nothing comes from the module that it stands in."""
    thing = public_thing(name)
    if has_docstring(thing) and not name.startswith("vrspam.distributed.Spark"):  # their session is left out
        assert unknown_in_example(thing.__doc__ or "") == set()


CLASSES = [
    name
    for name in NAMES
    if name.startswith(("vrspam.features.", "vrspam.distributed.", "vrspam.online.")) or name.count(".") == 1
]
FOR_THE_ROOMS = {  # of maps and moments
    *("dtype_of", "features_of", "holding_no_rows", "learn", "of_device_rows", "of_fitted", "products"),
    *("to_model", "blocks", "block_places", "feature_places", "is_finer", "parts"),
    *("grower", "learn_labels", "scores_by"),
}


@pytest.mark.parametrize("name", CLASSES)
def test_the_methods_of_estimators_maps_and_moments_are_documented(name):
    kind = public_thing(name)
    for method, function in inspect.getmembers(kind, inspect.isroutine) if inspect.isclass(kind) else ():
        own = getattr(function, "__module__", None) or ""
        if method.startswith("_") or not own.startswith("vrspam") or method in FOR_THE_ROOMS:
            continue
        assert function.__doc__, f"{method} has no docstring"
        missing = undocumented(function)
        assert missing == [], f"{method} does not explain {missing}"


def fitted(kind: type) -> Any:
    """One fit of an estimator or a map on the same small table."""
    X, y = make_data(120, 4, seed=0)
    if kind is features.StackedFeatures:
        return kind([features.LinearFeatures(), features.AdditiveFeatures()]).fit(X)
    if kind is vrspam.OneVsRestAUC:
        y = np.arange(120) % 3
    model = kind()
    if "cv" in model.get_params():
        model.set_params(cv=3, features="additive")
    return clone(model).fit(X, y)


ESTIMATORS = [
    name
    for name in NAMES
    if name.startswith(("vrspam.features", "vrspam.AUC", "vrspam.VRS", "vrspam.S", "vrspam.O"))
    and hasattr(public_thing(name), "fit")
    and public_thing(name) is not features.FeatureMap
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fitted_attribute_is_documented(name):
    model = fitted(public_thing(name))
    properties = [key for key, value in inspect.getmembers(type(model)) if isinstance(value, property)]
    found = [key for key in {*vars(model), *properties} if key.endswith("_") and not key.startswith("_")]
    assert len(found) > 2
    text = sections(type(model).__doc__ or "")["Attributes"]
    known = text.replace("`", " ").replace(",", " ").split()
    assert sorted(key for key in found if key not in known) == []
