"""Language models: the nets that a converter makes of one, and the order in which they answer a prompt."""
