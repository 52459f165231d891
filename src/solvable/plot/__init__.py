"""One function per kind of picture, from labelled datasets. They take `ax=`, return the Axes, show nothing by themselves
and leave matplotlib's settings alone. Without `ax` they begin a picture in the library's own look, and go on in it; into panels of
your own they draw with your settings. `with style():` gives that look to all that is drawn inside."""

from solvable.plot.atlas import atlas, landscape, spectra
from solvable.plot.cases import classification_error, direction_overlaps, task_risks
from solvable.plot.curves import compare, cross_overlaps, readouts, risk, student_overlaps
from solvable.plot.fits import fit
from solvable.plot.schedules import schedule
from solvable.plot.spectrum import forecast
from solvable.plot.style import figure, style
from solvable.plot.sweeps import family, heat_map, lines, phases, sweep
from solvable.plot.training import correlation, train_and_test

__all__ = [
    "atlas",
    "classification_error",
    "compare",
    "correlation",
    "cross_overlaps",
    "direction_overlaps",
    "family",
    "figure",
    "fit",
    "forecast",
    "heat_map",
    "landscape",
    "lines",
    "phases",
    "readouts",
    "risk",
    "schedule",
    "spectra",
    "student_overlaps",
    "style",
    "sweep",
    "task_risks",
    "train_and_test",
]
