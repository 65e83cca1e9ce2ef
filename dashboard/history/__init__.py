"""The page and the plot of a metric over all runs."""
