"""Causes of tensors that differ; a check that passes asks for none of them."""
