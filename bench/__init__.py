"""Benches. Each is a small module with a ``BENCH``, which registry.py finds."""
