"""Settings of the documentation site: `make docs`.

The site is read without a network: no fonts, scripts or inventories come from elsewhere, and formulas are plain text.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import vrspam
from vrspam._utils.parameters import BASE

sys.path.insert(0, str(Path(__file__).parent))
from api_pages import belongs_to_vrspam, import_spark_estimators, write_api_pages
from docstrings import as_rst
from name_links import LinkPublicNames
from root_files import read_source

project = "vrspam"
author = "vrspam contributors"
copyright = "vrspam contributors"
version = release = vrspam.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "results/table.md",
    "results/bench.md",
    "auto_examples/*.ipynb",
    "auto_examples/*.py",
]
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),  # `name` in a docstring links to the name where it is one of ours
    ("py:.*", r"sklearn\..*"),  # its pages are elsewhere
]
default_role = "py:obj"
highlight_language = "none"

# Markdown: the pages can also be read where the repository is browsed.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

# The reference: one page for every public name.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
templates_path = ["_templates"]

sphinx_gallery_conf = {
    "examples_dirs": "../gallery",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"\.py$",  # every example runs
    "within_subsection_order": "gallery_order.GalleryOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,  # a page that loads scripts from elsewhere
    "show_signature": False,
    "min_reported_time": 1,
    "remove_config_comments": True,
    "default_thumb_file": str(Path(__file__).parent / "_static" / "logo.png"),
}

# A prompt or an output is not copied with the code.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"vrspam {version}"
html_baseurl = BASE.rstrip("/").removesuffix("api")
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_show_search_summary = False  # a page opened as a file may not read the others
html_context = {"default_mode": "auto"}  # light or dark, as the reader's browser
html_theme_options = {
    "logo": {"text": f"vrspam {version}", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("index", "start", "when_to_use", "changelog")}  # they have no pages below them


def setup(app: Any) -> None:
    """Write the pages of the reference before Sphinx looks for its sources."""
    import_spark_estimators()
    app.add_transform(LinkPublicNames)
    app.connect("source-read", read_source)
    app.connect("config-inited", write_reference)
    app.connect("autodoc-skip-member", lambda app, what, name, member, skip, options: skip or not_ours(name, member))
    app.connect("autodoc-process-docstring", to_rst, priority=100)  # before numpydoc


def write_reference(app: Any, config: Any) -> None:
    """Write the pages of rooms, and name them, so that a build that goes on from an earlier one sees new ones."""
    config.autosummary_generate = write_api_pages(Path(app.srcdir) / "api")


def not_ours(name: str, member: Any) -> bool | None:
    """Members that scikit-learn gives every estimator stay out; None leaves the decision to autodoc."""
    return None if belongs_to_vrspam(name, member) else True


def to_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace the lines of a docstring, as autodoc wants it: in place."""
    lines[:] = as_rst(lines)
