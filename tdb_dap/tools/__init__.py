"""Tools for compiled models: one package each, and ``opening``, which they start from."""
