"""The command ``tdb-dap``: the subcommands, in folders by what they are for, each imported when it is chosen."""
