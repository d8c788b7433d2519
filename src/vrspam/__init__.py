"""Linear scorers that maximise the area under the ROC curve."""

__version__ = "0.1.0"
