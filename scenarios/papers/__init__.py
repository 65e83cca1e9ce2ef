"""The reproduction book: every row of the five papers, what it reports, and what is measured here."""
