"""Coverage-guided fuzzing of every parser: random bytes and text in place of files, messages and console lines.

    python -m scripts.robustness.fuzz_parsers

The rule is the same for all targets: whatever comes, there is an answer or one line of error, in a few seconds and in
bounded memory, and nothing is written or started outside of a scratch directory.
"""
