"""The debug console: one module for each kind of verb."""
