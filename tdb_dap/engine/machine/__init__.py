"""A chip at one moment of a program, and the way to any other moment."""
