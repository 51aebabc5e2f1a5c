"""Debug the bundled sample."""
