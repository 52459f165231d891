"""Online learning and information exponents: on the importance of batch size, and time/complexity tradeoffs."""
