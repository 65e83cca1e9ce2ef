"""A run by the Land Speed Record's rules: its page and its dossier."""
