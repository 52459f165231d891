"""The population risk as a landscape over the weights: slopes, curvature, critical points, and where a trajectory is in it."""

from solvable.landscape.along import Curvature, Visit, curvature, curvature_along, visits
from solvable.landscape.critical import CriticalPoint, atlas, critical_points
from solvable.landscape.quadratic import (
    gradient,
    hessian,
    hessian_product,
    population_risk,
    sphere_gradient,
    sphere_hessian,
)

__all__ = [
    "CriticalPoint", "Curvature", "Visit", "atlas", "critical_points", "curvature", "curvature_along", "gradient", "hessian",
    "hessian_product", "population_risk", "sphere_gradient", "sphere_hessian", "visits",
]  # fmt: skip
