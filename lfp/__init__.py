"""The testbed from Python."""
