"""A run as one file: HTML, and Markdown with pictures."""
