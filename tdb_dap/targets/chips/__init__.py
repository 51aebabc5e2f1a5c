"""The chips: one page of data each, and the registry that finds them by name."""
