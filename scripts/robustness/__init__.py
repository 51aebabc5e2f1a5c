"""Random or deliberate changes of inputs, models and code, and what notices them: see README.md."""
