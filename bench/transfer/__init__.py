"""Benches of rttcp between two hosts of this machine."""
