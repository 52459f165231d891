"""Repetita iuvant: data repetition allows SGD to learn high-dimensional multi-index functions."""
