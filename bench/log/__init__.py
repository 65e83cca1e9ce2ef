"""Benches of pktlogger, and the captures that they read."""
