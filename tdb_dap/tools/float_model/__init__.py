"""Language models before conversion: their configuration, weights, and what they compute in float."""
