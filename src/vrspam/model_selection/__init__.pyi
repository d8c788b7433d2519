# The public names and where they live: read by type checkers, by editors and, at import, by lazy_loader.
from .calibration import Isotonic, Sigmoid, calibrate
from .hashing import HashFolds
from .held_out import HeldOut
from .selection import Choice, select

__all__ = ["Choice", "HashFolds", "HeldOut", "Isotonic", "Sigmoid", "calibrate", "select"]
