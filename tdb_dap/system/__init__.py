"""What a process of this package needs from the system around it: ports, child processes, plugins, interruption."""
