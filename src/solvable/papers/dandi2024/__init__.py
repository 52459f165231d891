"""The benefits of reusing batches for gradient descent in two-layer networks."""
