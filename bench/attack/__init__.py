"""Measures how much of the tools' resources one source can take, and how much is left for others."""
