"""How the columns of a table are encoded: functions of a number, or indicators of categories."""

from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.distribution import N_NODES, Distribution, distribution
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.reading import Encoder, encode, places_of, read_columns, same_encoders

__all__ = [
    "N_NODES",
    "Curves",
    "Distribution",
    "Encoder",
    "Indicators",
    "distribution",
    "encode",
    "places_of",
    "read_columns",
    "same_encoders",
]
