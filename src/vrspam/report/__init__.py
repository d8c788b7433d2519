"""Pages: tables, pictures and text in one HTML file that needs no other file, no server and no network.

pages/           whole pages: which sections they have, in which order
sections/        the sections, a file each
words/           sentences that pages and the terminal share, by subject
pictures/        pictures as SVG, a file each
page.py          blocks of a page, and the page
first_screen.py  one large AUC, and what to worry about
slider.py        the threshold slider with what it moves; stops.py: where it can stop
html.py          the templates, in which all texts are escaped: templates/
"""
