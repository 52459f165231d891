"""Escape dynamics and implicit bias of one-pass SGD in overparameterized quadratic networks."""
