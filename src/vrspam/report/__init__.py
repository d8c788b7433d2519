"""Pages: tables, pictures and text in one HTML file that needs no other file, no server and no network.

pages/           whole pages: which sections they have, in which order
sections/        the sections, a file each
summaries/       what commands print: blocks of pages that need no picture
words/           sentences, each worded once, by subject
pictures/        pictures as SVG, a file each
blocks.py        what pages and the output of commands are made of, as records
page.py          the page: sections of blocks
html.py          blocks and pages as HTML: the templates, in which all texts are escaped
markdown.py      blocks as Markdown
first_screen.py  one large AUC, and what to worry about
slider.py        the threshold slider with what it moves; stops.py: where it can stop
"""
