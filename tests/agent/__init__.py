"""Tests of the server for agents, through the official client."""
