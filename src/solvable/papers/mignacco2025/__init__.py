"""A statistical physics framework for optimal learning."""
