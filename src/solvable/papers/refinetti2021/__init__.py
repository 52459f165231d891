"""Classifying high-dimensional Gaussian mixtures: where kernel methods fail and neural networks succeed."""
