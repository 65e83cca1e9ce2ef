"""Figures from what trials measured: fairness, RFC 6349's metrics, intervals, outliers, and when to stop."""
