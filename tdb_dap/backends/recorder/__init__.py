"""The recorder: a C library loaded before a program's own, and the process that keeps what it tells."""
