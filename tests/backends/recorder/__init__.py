"""The recorder, on a runtime that is made for these tests."""
