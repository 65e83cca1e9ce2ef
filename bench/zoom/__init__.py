"""Bench of the dashboard: a run that nobody made, and a browser that zooms into it."""
