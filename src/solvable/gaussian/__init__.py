"""Units and their Gaussian expectations: closed forms where known, quadrature for any function."""
