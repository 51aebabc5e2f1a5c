"""Subcommands that debug, or serve those that do: a terminal, an editor."""
