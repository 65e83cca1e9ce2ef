"""What one source can take of the tools' resources, and what is left for the others."""
