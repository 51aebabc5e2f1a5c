"""A diagnosis of this installation, with the command that mends what is wrong; works where dependencies are broken."""
