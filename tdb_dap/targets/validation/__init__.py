"""Proofs about instruction sets without a model, and the evidence for each part."""
