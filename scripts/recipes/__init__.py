"""The recipes of CONTRIBUTING.md as small changes, for ``scripts/check_recipes.py``."""
