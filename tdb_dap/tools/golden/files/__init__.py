"""Files of a compilation: identified by their contents, and the original model evaluated."""
