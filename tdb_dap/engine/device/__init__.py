"""Memories that live elsewhere: in a child process, on another machine, on a board."""
