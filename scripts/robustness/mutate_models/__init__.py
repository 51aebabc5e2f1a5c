"""Mutation test of the sanitizers: compiler faults put into compiled models on purpose, and which sanitizer finds them.

    python -m scripts.robustness.mutate_models --help

Its table is in docs/sanitizers.md.
"""
