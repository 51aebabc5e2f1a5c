"""Run control: the debugger, breakpoints, stepping and stops."""
