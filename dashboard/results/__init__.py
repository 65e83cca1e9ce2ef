"""All trials of a run as curves, grids and pairs: numbers, not drawings."""
