"""Cross-validation: folds, the grid of penalties, and the choice of a point."""
