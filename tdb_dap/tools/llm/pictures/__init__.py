"""Pictures of a prompt: the host's part, its faults, and the steps that show them."""
