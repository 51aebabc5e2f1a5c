"""Declaration of instruction sets and instruction families."""
