"""Requests of the protocol: one module for each area of the specification."""
