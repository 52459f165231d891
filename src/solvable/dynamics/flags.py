"""Flags of kernels that are specialised (`numerics/specialising.py`): what a kind of run may have. The general form has all."""

CASES = True  # samples of classes, tasks or masks; rows beside students and teachers
BATCHES = True  # several samples in a step
TABLES = True  # units and losses that are looked up in tables
THRESHOLD = True  # a quantity is watched
PACED = True  # a rate that follows the state
MOVING = True  # teachers that turn or walk
SHAPED = True  # steps that are no gradients of single samples
