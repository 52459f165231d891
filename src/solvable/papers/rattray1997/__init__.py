"""Globally optimal on-line learning rules for multi-layer neural networks."""
