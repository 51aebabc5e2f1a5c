"""Arithmetic that several instruction families share: float32 as the chip computes it, rounding, sums of products."""
