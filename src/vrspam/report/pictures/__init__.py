"""Pictures as SVG, a file each.

frame.py and marks.py are what they are made of: axes, and lines, points, boxes and texts in them. Colours are classes
(page.css), so that a picture follows the light or dark page around it. Lengths are in units of the picture, about
pixels of the screen. `vrspam.model.drawing` decides what is drawn of a column. Pictures that have a point for the
threshold carry a `data-kind`, by which the script of the page finds and moves the point.
"""
