"""What a chip is made of: number formats, memory spaces, addresses, layouts, and the protocol of a target."""
