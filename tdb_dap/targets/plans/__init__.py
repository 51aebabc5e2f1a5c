"""Execution by plans: all commands of a form share one plan, made once.

Thousands of commands of a network differ only in where their operands are. ``forms`` tells a form from others by the
bits that are not addresses, ``making`` makes the plan of a form from the semantic function of its commands, which may
not look at any address or number while that is done, and ``plan`` carries it out.
"""
