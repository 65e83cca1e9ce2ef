"""The page of two runs."""
