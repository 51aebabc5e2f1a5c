"""Running a compiled net on the vendor's runtime, in a separate process and without the vendor's Python."""
