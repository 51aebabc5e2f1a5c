"""The plugin ``gpu``: the built-in simulator with long sums of products on a CUDA device. Bit-equal, or not used."""
