"""The commands of a program: decoding of streams, execution order, columns and text."""
