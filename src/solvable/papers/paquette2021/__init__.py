"""Paquette and Paquette 2021: whether momentum makes SGD faster, for linear students and beyond."""
