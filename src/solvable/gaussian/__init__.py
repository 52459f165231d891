"""Units and their Gaussian expectations: closed forms where known, quadrature for any function."""

from solvable.gaussian.quadrature import expect
from solvable.gaussian.units import Activation

__all__ = ["Activation", "expect"]
