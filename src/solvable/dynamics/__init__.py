"""The moments of one step and the equations of motion, for any problem."""
