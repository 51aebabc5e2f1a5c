"""Questions about all moments of a run at once: traces, turning points, tensors of a kind, histories of a place."""
