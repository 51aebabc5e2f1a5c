"""A compiled model as a whole, which never changes: commands, ops, and who accesses which bytes."""
