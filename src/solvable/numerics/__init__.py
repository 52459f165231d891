"""Integrators and how the library compiles."""
