"""Simulate a model to its end."""
