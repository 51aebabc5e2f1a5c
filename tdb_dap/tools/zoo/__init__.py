"""Many models, chips and precisions: run, kept in a store, compared from one run to the next."""
