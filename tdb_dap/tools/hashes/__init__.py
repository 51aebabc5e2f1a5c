"""Hashes of what a run computes, and the first difference between two such logs."""
