"""The door for agents: a server of the Model Context Protocol whose tools answer questions about a compiled model."""
