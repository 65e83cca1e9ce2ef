"""One measurement: its tools, its files, and whether it may be believed."""
