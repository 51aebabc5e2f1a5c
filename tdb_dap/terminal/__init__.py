"""The debugger in a terminal: a client of the adapter like any editor."""
