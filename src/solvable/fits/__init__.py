"""From a learning curve to the parameters of a problem."""

from solvable.fits.curve import Curve
from solvable.fits.inference import fit
from solvable.fits.result import Fit

__all__ = ["Curve", "Fit", "fit"]
