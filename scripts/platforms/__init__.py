"""Proofs that the package computes the same bits on other systems, and the table of them in docs/platforms.md."""
