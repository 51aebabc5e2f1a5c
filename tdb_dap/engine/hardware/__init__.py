"""Parts of a chip: number formats, memory spaces, addresses, layouts, and the protocol of a target."""
