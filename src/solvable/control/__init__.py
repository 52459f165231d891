"""The best way to train: gradients through the equations of motion, and the schedules that they lead to."""

from solvable.control.certificate import Certificate
from solvable.control.controls import Control
from solvable.control.finding import optimal
from solvable.control.gradients import Gradient, gradient
from solvable.control.locally import greedy
from solvable.control.optimum import Optimum

__all__ = ["Certificate", "Control", "Gradient", "Optimum", "gradient", "greedy", "optimal"]
