"""Numerical tools: integrators, random numbers, eight-lane vectors, threads, memory, and how the library compiles."""
