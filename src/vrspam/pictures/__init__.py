"""Plans of pictures: values, axes, marks and words. `vrspam.report` draws them as SVG, `vrspam.plotting` by matplotlib.

Lengths are in units in which a digit is about 7.3 wide (`text_width`); both engines make the axis of a column at least
`ROOM` units long. A picture that one engine alone draws has no plan here.
"""
