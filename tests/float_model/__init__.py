"""The float model of language models."""
