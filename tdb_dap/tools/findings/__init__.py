"""Findings of any command in the forms that continuous integration reads, and those that are known already."""
