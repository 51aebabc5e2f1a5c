"""The smallest model that still fails, ready for an issue of the compiler."""
