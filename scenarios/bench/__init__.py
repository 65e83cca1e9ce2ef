"""Benches: one small module each with ``BENCH``; registry.py finds them."""
