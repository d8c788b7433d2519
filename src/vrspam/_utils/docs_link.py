"""Links from the HTML representation of estimators to their pages in the documentation."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")
BASE = ""  # address of the folder `api` of the documentation site; while it is empty, there are no links


def links_to_documentation(kind: type[T]) -> type[T]:
    """Let scikit-learn's HTML representation link a class of this package, and those derived of it, to their pages.

    The page of `vrspam.AUCClassifier` is BASE/vrspam.AUCClassifier.html.
    """
    ours: Any = kind
    inherited = ours._get_doc_link
    ours._doc_link_module = "vrspam"
    ours._doc_link_template = property(lambda self: f"{BASE.rstrip('/')}/{{public_name}}.html")
    ours._doc_link_url_param_generator = lambda self: {"public_name": public_name(type(self))}
    ours._get_doc_link = lambda self: inherited(self) if BASE else ""
    return kind


def public_name(kind: type) -> str:
    """The name under which users import a class: estimators from the package, others from their room.

    >>> from vrspam.features import AdditiveFeatures
    >>> public_name(AdditiveFeatures)
    'vrspam.features.AdditiveFeatures'
    """
    package, _, rest = kind.__module__.partition(".")
    room = rest.partition(".")[0]
    return f"{package}.{kind.__name__}" if room == "estimators" else f"{package}.{room}.{kind.__name__}"
