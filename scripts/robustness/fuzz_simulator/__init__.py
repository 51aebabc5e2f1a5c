"""Differential fuzzing: random variants of real commands, executed by our semantics and by the vendor's simulator.

    python -m scripts.robustness.fuzz_simulator --help

Its results are in results.json.
"""
