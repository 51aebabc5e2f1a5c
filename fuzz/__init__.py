"""Coverage-guided search for inputs that break a parser: ``python -m fuzz``, see docs/hardening.md.

The rule is the same for all targets: whatever comes, there is an answer or one line of error, in a few seconds and in
bounded memory, and nothing is written or started outside of a scratch directory.
"""
