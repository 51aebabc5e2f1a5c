"""Backends: what executes the commands."""
