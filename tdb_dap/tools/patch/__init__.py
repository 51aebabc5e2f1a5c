"""Writing changed copies of a bmodel: other fields in commands, other weights, fewer commands."""
