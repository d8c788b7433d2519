"""Calibration of scores under its earlier path; it is `vrspam.model_selection.calibration` now."""

from vrspam.model_selection.calibration import METHODS, Calibration, Isotonic, Sigmoid, calibrate, calibration_from_dict

__all__ = ["METHODS", "Calibration", "Isotonic", "Sigmoid", "calibrate", "calibration_from_dict"]
