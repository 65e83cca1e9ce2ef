"""Benches of runs: the overhead of a trial, and what remains when a run is killed."""
