"""The population risk as a landscape over the weights: slopes, curvature, critical points."""

from solvable.landscape.critical import CriticalPoint, critical_points
from solvable.landscape.quadratic import gradient, hessian, hessian_product, population_risk

__all__ = ["CriticalPoint", "critical_points", "gradient", "hessian", "hessian_product", "population_risk"]
