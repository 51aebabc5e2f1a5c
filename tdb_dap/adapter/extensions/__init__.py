"""Requests beyond the protocol, ``tdb/...``, for clients that draw."""
