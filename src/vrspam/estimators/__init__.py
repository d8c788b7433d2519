"""scikit-learn estimators: they validate, encode labels, call a solver and keep what it found."""
