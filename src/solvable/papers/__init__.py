"""One folder per paper: settings, figures, claims with expected numbers and tolerances; no formulas."""
