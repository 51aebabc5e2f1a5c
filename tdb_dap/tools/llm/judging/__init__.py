"""Launches of a completion judged by the float model."""
