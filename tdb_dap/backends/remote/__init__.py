"""A backend of another machine: what both sides say, the server, and the device that stands for it here."""
