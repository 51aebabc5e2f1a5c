"""What differs between chips, as data: encodings, families, semantics, timing; and the backends that execute."""
