"""Figures: functions from data to plotly figures, without I/O. One file a figure or subplot."""
