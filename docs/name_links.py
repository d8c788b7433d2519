"""Public names in the text of pages, such as `AUCClassifier`, become links to their pages in the reference."""

from __future__ import annotations

from typing import Any

from api_pages import FOR_EXTENSIONS, ROOMS, public_names
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


def targets() -> dict[str, str]:
    """The full name of each public name, by itself and with its room; of two rooms the first has it."""
    rooms = [room for room in (*ROOMS, *FOR_EXTENSIONS) if public_names(room)]
    found = {room: room for room in rooms}
    for room in rooms:
        for name in public_names(room):
            found.setdefault(name, f"{room}.{name}")
            found[f"{room}.{name}"] = f"{room}.{name}"
    return found


class LinkPublicNames(SphinxTransform):
    """Wrap inline code that is exactly a public name into a reference; pages of the reference do so themselves."""

    default_priority = 500
    names: dict[str, str] | None = None

    def apply(self, **options: Any) -> None:
        if self.env.docname.startswith("api/"):
            return
        names = LinkPublicNames.names = LinkPublicNames.names or targets()
        for literal in list(self.document.findall(nodes.literal)):
            name = literal.astext().removesuffix("()")
            inside = isinstance(literal.parent, nodes.title | nodes.reference | addnodes.pending_xref)
            if name in names and not inside:
                link = addnodes.pending_xref(
                    "", refdomain="py", reftype="obj", reftarget=names[name], refdoc=self.env.docname, refwarn=False
                )
                literal.replace_self(link)
                link += literal
