"""Checks while a program runs, and the exception filters that switch them on."""
