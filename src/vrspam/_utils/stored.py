"""How a file holds the value of a field, where the type of the field does not say it.

`vrspam.model.plain` writes and reads objects by the fields of their classes. An array of a field holds finite numbers
unless it is one of the types below.
"""

from typing import Annotated, Any

import numpy as np

WHOLE = "whole numbers"
FLAGS = "flags"
GAPS = "numbers, NaN where there is none"
TEXTS_TOO = "numbers or texts"
ONCE = "written once for all that share it"
NEVER = "not written"

WholeNumbers = Annotated[np.ndarray, WHOLE]
Flags = Annotated[np.ndarray, FLAGS]
NumbersWithGaps = Annotated[np.ndarray, GAPS]
NumbersOrTexts = Annotated[np.ndarray, TEXTS_TOO]
#: A number, or an array where there are several scores; a file holds one score.
Height = Annotated[Any, float]
