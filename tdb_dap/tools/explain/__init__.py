"""Commands and ops in words: what they compute, where from, and what they were before compilation."""
