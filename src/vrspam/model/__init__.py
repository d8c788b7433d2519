"""A fitted model for any program: the parts of its score, and plans of its pictures."""
