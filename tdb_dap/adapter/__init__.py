"""The Debug Adapter Protocol server: requests to Debugger calls and back, nothing else."""
