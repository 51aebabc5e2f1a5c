"""Who executes commands."""
