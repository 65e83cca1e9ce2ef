"""The page of one run: its sweeps, curves and matrices, and how far it is."""
