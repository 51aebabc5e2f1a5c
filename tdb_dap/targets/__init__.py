"""The chips as data: encodings, instruction families, semantics, timing."""
