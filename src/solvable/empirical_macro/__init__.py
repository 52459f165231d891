"""The limit of a finite data set: dynamical mean-field theory of training in steps, marched forward once."""

from solvable.empirical_macro.level import EmpiricalMacro

__all__ = ["EmpiricalMacro"]
