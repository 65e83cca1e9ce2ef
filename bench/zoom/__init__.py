"""Bench of the dashboard: a synthetic run, and a browser that zooms into it."""
