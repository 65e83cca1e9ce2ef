"""What a Dask cluster costs, and whether its table equals that of one machine, also when a worker is lost."""
