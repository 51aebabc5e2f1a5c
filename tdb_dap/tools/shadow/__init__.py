"""A float64 shadow beside each tensor: what it would be without any rounding."""
