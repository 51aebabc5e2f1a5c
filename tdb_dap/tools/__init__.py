"""What can be done with a compiled model: one package for each tool, and ``opening``, which they start from."""
