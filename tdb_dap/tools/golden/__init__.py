"""The meaning of the compiler's ops: computed in float64 from their attributes, and what formats may cost."""
