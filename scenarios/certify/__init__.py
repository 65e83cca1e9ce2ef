"""What a run directory held when the run ended, and the Land Speed Record's rules applied to it."""
