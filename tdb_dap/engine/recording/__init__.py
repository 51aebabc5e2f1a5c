"""Recordings of programs that ran on the vendor's runtime: the file format, reading and writing."""
