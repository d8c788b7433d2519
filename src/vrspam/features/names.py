"""The names of maps: what `features="..."` stands for, alone, in groups and in lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import clone

from vrspam._utils.names import usual_spelling
from vrspam.features.additive import AdditiveFeatures, LinearFeatures
from vrspam.features.base import FeatureMap
from vrspam.features.boosted import BoostedFeatures
from vrspam.features.forest import ForestFeatures
from vrspam.features.kernel import KernelFeatures
from vrspam.features.mapped import MAX_FEATURES
from vrspam.features.stacked import StackedFeatures
from vrspam.features.trees import TreeFeatures

# Every map that has a name of its own, from simple to complex; the numbers are bandwidths (from nearly quadratic to
# fine detail) and depths.
CANDIDATES: dict[str, FeatureMap] = {
    "standardized": LinearFeatures(),
    "additive": AdditiveFeatures(),
    "kernel 3": KernelFeatures(bandwidth=3.0, n_landmarks="auto", max_additive="auto"),
    "kernel 1": KernelFeatures(bandwidth=1.0, n_landmarks="auto", max_additive="auto"),
    "kernel 0.3": KernelFeatures(bandwidth=0.3, n_landmarks="auto", max_additive="auto"),
    "kernel alone 3": KernelFeatures(bandwidth=3.0, n_landmarks="auto", additive=False),
    "kernel alone 1": KernelFeatures(bandwidth=1.0, n_landmarks="auto", additive=False),
    "kernel alone 0.3": KernelFeatures(bandwidth=0.3, n_landmarks="auto", additive=False),
    "trees 2": TreeFeatures(max_depth=2, n_landmarks="auto"),
    "trees 4": TreeFeatures(max_depth=4, n_landmarks="auto"),
    "trees 7": TreeFeatures(max_depth=7, n_landmarks="auto"),
    "forest": ForestFeatures(),
    "boosted": BoostedFeatures(),
}
# The values of `features` that stand for several maps.
GROUPS: dict[str, tuple[str, ...]] = {
    "kernel": ("kernel 3", "kernel 1", "kernel 0.3"),
    "kernel alone": ("kernel alone 3", "kernel alone 1", "kernel alone 0.3"),
    "trees": ("trees 2", "trees 4", "trees 7"),
    "auto": ("standardized", "additive", "kernel 1", "kernel alone 1", "trees 4", "forest", "boosted"),
}
NAMES = ("linear", "standardized", "additive", "kernel", "kernel alone", "trees", "forest", "boosted", "auto")
SINGLE_NAMES = tuple(name for name in CANDIDATES if name not in NAMES)
SPELLED_NAMES = {*NAMES, *SINGLE_NAMES, "standardised"}  # what is accepted
# The classes of maps: what a stack is made of, and what skops may load.
MAPS: dict[str, type[FeatureMap]] = {type(features).__name__: type(features) for features in CANDIDATES.values()}
MAPS["StackedFeatures"] = StackedFeatures


def named_maps(features: Any, seed: int | None) -> dict[str, Any]:
    """The maps that `features` asks for, unfitted, from simple to complex; names as in `selection_`.

    >>> list(named_maps("auto", seed=0))
    ['standardized', 'additive', 'kernel 1', 'kernel alone 1', 'trees 4', 'forest', 'boosted']
    >>> list(named_maps(["trees", "kernel alone 1"], seed=0))
    ['trees 2', 'trees 4', 'trees 7', 'kernel alone 1']
    """
    if isinstance(features, str):
        maps = maps_called(features)
    elif isinstance(features, dict):
        maps = maps_of_dict(features)
    elif isinstance(features, (list, tuple)):
        maps = maps_of_list(features)
    else:
        maps = maps_of_list([features])
    for new in maps.values():
        set_seed(new, seed)
    return maps


def maps_called(name: str) -> dict[str, Any]:
    """The map of this name, or the maps of a group."""
    if name not in NAMES + SINGLE_NAMES:
        name = usual_spelling(name, NAMES)
    if name not in NAMES + SINGLE_NAMES:
        raise ValueError(f"features is {name!r}, but must be one of {NAMES}, a transformer or a list of them.")
    if name == "linear":
        name = "standardized"
    return {single: clone(CANDIDATES[single]) for single in GROUPS.get(name, (name,))}


def maps_of_dict(features: Mapping[Any, Any]) -> dict[str, Any]:
    """The transformers of a dict, under its keys."""
    _refuse_none(features)
    for name, item in features.items():
        if not is_transformer(item):
            raise ValueError(f"features[{name!r}] is {item!r}, but must be a transformer: names go into a list.")
    return {name: clone(item) for name, item in features.items()}


def maps_of_list(features: Sequence[Any]) -> dict[str, Any]:
    """The transformers of a list, called as they are written, and the maps of names in it."""
    _refuse_none(features)
    maps: dict[str, Any] = {}
    for item in features:
        if isinstance(item, str) and item == "linear":
            raise ValueError("features: 'linear' stands alone. In a list of feature maps, write 'standardized'.")
        if isinstance(item, str):
            maps.update(maps_called(item))
        elif is_transformer(item):
            name = " ".join(repr(item).split())
            maps[name if name not in maps else f"{name} ({len(maps) + 1})"] = clone(item)
        else:
            raise ValueError(f"features holds {item!r}, but must hold transformers or names out of {NAMES[1:]}.")
    return maps


def _refuse_none(features: Any) -> None:
    if not features:
        raise ValueError(f"features is an empty {type(features).__name__}: give at least one transformer, or 'auto'.")


def is_transformer(item: Any) -> bool:
    """Whether this can be fitted and transforms rows."""
    return hasattr(item, "fit") and hasattr(item, "transform")


def set_seed(features: Any, seed: int | None) -> None:
    """Set `random_state` of a map, or of the maps of a stack, where it is not set."""
    if not isinstance(features, StackedFeatures):
        _set_seed_of_one(features, seed)
        return
    for part in features.maps:  # maps are not parameters of a stack
        if getattr(part, "supervised", False):  # a stack cannot grow trees by folds
            raise ValueError(
                f"{type(part).__name__} learns from labels and cannot be part of a stack here: give the maps as a "
                "list, features=[...], and they are blended."
            )
        _set_seed_of_one(part, seed)


def _set_seed_of_one(features: Any, seed: int | None) -> None:
    if not hasattr(features, "get_params"):
        return
    for name, value in features.get_params().items():
        if value is None and name.split("__")[-1] == "random_state":
            features.set_params(**{name: seed})


def is_plain(features: Any, X: Any) -> bool:
    """Whether the columns are used as they are: for "linear", and for "auto" on a table too wide for any map."""
    if not isinstance(features, str):
        return False
    wide = len(getattr(X, "shape", ())) == 2 and X.shape[1] > MAX_FEATURES
    return features == "linear" or (features == "auto" and wide)
