"""Reading and writing files that others made: bounded, checked, and complete or not there at all."""
