"""The moments of one step and the equations of motion, for any problem."""

# Raise it when a change moves results by more than rounding: sweeps then compute anew what they have stored.
VERSION = 3
