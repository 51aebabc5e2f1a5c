"""A diagnosis of this installation, with the command that fixes each problem; works where dependencies are broken."""
