"""Subcommands about this installation: simulators, chips, plugins."""
