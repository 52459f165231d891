"""Collins-Woodfin and others 2024: learning rates that follow the run, for least squares: AdaGrad-Norm and exact line search."""
