"""Builds what is published from a commit: sources, wheels, extension and checksums, each time the same bytes."""
