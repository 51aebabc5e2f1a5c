"""Services of the operating system: ports, child processes, plugins, interruption."""
