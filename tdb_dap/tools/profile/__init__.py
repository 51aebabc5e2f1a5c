"""Time of a model: per command and per op, estimated or from the compiler's own figures."""
