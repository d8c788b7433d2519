"""One fitted model: the parts of its score, calibration, curves to show, and the file that holds it."""
