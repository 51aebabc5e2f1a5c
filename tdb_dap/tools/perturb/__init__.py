"""Ops that make more of the last bit of their operands than they must."""
