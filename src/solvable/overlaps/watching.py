"""The list of quantities that a threshold may watch."""

# how many numbers say which entry of it (a readout: its student, or head and student); compiled code knows a quantity by its place
WATCHABLE: dict[str, tuple[int, ...]] = {
    "risk": (), "cross_overlap": (2,), "student_overlap": (2,), "norm": (1,), "readout": (1, 2),
}  # fmt: skip
