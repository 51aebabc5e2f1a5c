"""Expected data, and how far computed data is from it."""
