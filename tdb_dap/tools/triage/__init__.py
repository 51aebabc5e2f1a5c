"""First stage of a compilation that went wrong, its op, and whether it is a bug or the price of a format."""
