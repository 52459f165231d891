"""Scaling laws of two-layer networks with power-law data spectra."""
