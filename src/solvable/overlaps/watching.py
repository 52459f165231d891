"""The list of quantities that a threshold may watch."""

# how many numbers say which entry of it; compiled code knows a quantity by its place here
WATCHABLE = {"risk": 0, "cross_overlap": 2, "student_overlap": 2, "norm": 1, "readout": 1}
