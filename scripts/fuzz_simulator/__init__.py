"""Differential fuzzing: random variants of real commands, on our semantics and on the vendor's simulator.

A development tool, run by ``make fuzz-sim``; see docs/fidelity.md for what it finds.
"""
