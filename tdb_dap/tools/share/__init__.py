"""``tdb-dap share``: a session as a page that opens in any browser, with the engine in it."""
