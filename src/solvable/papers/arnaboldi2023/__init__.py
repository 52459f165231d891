"""Escaping mediocrity: how two-layer networks learn hard generalized linear models with SGD."""
