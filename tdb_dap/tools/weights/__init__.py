"""``tdb-dap weights``: compare the constants of a bmodel with the weights they were made of, without a run."""
