"""List what installed packages add."""
