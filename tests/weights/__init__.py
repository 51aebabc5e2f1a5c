"""Constants compared with the weights that they were made of."""
