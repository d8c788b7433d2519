"""Pages: tables, pictures and text in one HTML file that needs no other file, no server and no network.

numbers.py   numbers and names as text
svg.py       scales, axes and marks: the parts of a picture
curves.py    pictures of scores: ROC, precision and recall, gain, calibration, distributions
columns.py   pictures of a model: curves of columns, heat maps, bars
explorer.py  the threshold slider with what it moves: counts for a set of thresholds
layout.py    blocks of a page, and the page itself
page.css, page.js, template.html
"""

from vrspam.report.layout import (
    Alert,
    Block,
    Bullets,
    Cards,
    Cell,
    Code,
    Drawing,
    Facts,
    Figure,
    Folded,
    Grid,
    Heading,
    Headline,
    Page,
    Table,
    Text,
    markdown_table,
)

__all__ = [
    "Alert",
    "Block",
    "Bullets",
    "Cards",
    "Cell",
    "Code",
    "Drawing",
    "Facts",
    "Figure",
    "Folded",
    "Grid",
    "Heading",
    "Headline",
    "Page",
    "Table",
    "Text",
    "markdown_table",
]
