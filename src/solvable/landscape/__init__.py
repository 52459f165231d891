"""The population risk as a landscape over the weights: slopes, curvature, critical points, where a trajectory is in it; and paths
of least resistance through any landscape."""

from solvable.landscape.along import Curvature, Visit, curvature, curvature_along, nearest, visits
from solvable.landscape.critical import CriticalPoint, atlas, critical_points
from solvable.landscape.quadratic import (
    gradient,
    hessian,
    hessian_product,
    population_risk,
    sphere_gradient,
    sphere_hessian,
)
from solvable.landscape.string import Landscape, Potential, String, string

__all__ = [
    "CriticalPoint", "Curvature", "Landscape", "Potential", "String", "Visit", "atlas", "critical_points", "curvature",
    "curvature_along", "gradient", "hessian", "hessian_product", "nearest", "population_risk", "sphere_gradient", "sphere_hessian",
    "string", "visits",
]  # fmt: skip
