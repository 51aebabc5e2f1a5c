"""How instruction sets and instruction families are declared."""
