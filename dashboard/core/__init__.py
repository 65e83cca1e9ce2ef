"""Code that two or more of pages, report and server share."""
