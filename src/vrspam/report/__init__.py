"""Pages: tables, pictures and text in one HTML file that needs no other file, no server and no network.

page.py      blocks of a page, among them the threshold slider with what it moves, and the page itself
pictures.py  pictures of scores and of models
sections.py  whole pages of a report, an evaluation, a comparison, a model
words.py     the sentences of pages and of the terminal
page.css, page.js, template.html
"""
