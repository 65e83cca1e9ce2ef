"""What a Dask cluster costs, and whether its table is that of one machine, also where a worker is lost."""
