"""What two or more of pages, report and server share."""
