"""Helpers that know nothing of AUC: arrays on devices, files, threads, progress, warnings."""
