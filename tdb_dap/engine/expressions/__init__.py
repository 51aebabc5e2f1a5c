"""Expressions over tensors: names, values, slices, assignment."""
