"""Trials on the workers of a Dask cluster: ``lfp run --scheduler ADDRESS``."""
