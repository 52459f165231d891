"""Closed units: one file each, with all the Gaussian averages that learning with it is made of. `closed_forms.py` lists them."""
