"""Command streams that the vendor's library has written down, made into a recording."""
