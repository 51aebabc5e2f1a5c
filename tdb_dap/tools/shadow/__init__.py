"""A float64 shadow of each tensor: its value without any rounding."""
