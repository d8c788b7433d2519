"""Whole pages: which sections they have, in which order."""
