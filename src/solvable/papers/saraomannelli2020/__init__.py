"""Optimization and generalization of shallow neural networks with quadratic activation functions."""
