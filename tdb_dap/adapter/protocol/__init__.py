"""The Debug Adapter Protocol itself: types, framing, transports, and a client."""
