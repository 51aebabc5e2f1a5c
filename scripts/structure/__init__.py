"""The structure of the package: its rooms, which way imports lead, and how many files a request goes through."""
