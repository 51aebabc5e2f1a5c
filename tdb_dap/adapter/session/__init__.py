"""One client: its state, its requests in order, and what it is sent."""
