"""The version of the package: the only line that a release changes."""

__version__ = "0.2.0"
