"""The version of the package: the only line that a release changes."""

__version__ = "0.1.0"
