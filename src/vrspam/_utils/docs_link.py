"""Links from the HTML representation of estimators to their pages in the documentation."""

from __future__ import annotations

from typing import Any

BASE = ""  # address of the folder `api` of the documentation site; while it is empty, there are no links


class DocumentationLink:
    """What scikit-learn's HTML representation needs to link a class of this package to its page.

    The page of `vrspam.AUCClassifier` is BASE/vrspam.AUCClassifier.html.
    """

    _doc_link_module = "vrspam"

    @property
    def _doc_link_template(self) -> str:
        return f"{BASE.rstrip('/')}/{{public_name}}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"public_name": public_name(type(self))}

    def _get_doc_link(self) -> str:
        inherited: Any = super()
        return inherited._get_doc_link() if BASE else ""


def public_name(kind: type) -> str:
    """The name under which users import a class: estimators from the package, others from their room.

    >>> from vrspam.features import AdditiveFeatures
    >>> public_name(AdditiveFeatures)
    'vrspam.features.AdditiveFeatures'
    """
    package, _, rest = kind.__module__.partition(".")
    room = rest.partition(".")[0]
    return f"{package}.{kind.__name__}" if room == "estimators" else f"{package}.{room}.{kind.__name__}"
