"""Algorithms that minimise the one objective of `vrspam.objective`."""
