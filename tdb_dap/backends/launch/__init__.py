"""Running a compiled net on the vendor's runtime, in a process of its own and without the vendor's Python."""
