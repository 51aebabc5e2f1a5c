"""Judging computed tensors: how far two arrays are apart, what passes, and which op is at fault."""
