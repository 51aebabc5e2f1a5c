"""Where the time of a model goes: per command and per op, estimated or from the compiler's own figures."""
