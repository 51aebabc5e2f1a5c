"""Mutation test of the sanitizers: faults of compilers, made on purpose, and who finds them.

A development tool, run by ``make mutate``; docs/sanitizers.md holds its table.
"""
