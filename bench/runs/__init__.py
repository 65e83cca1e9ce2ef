"""How a run behaves: what a trial costs beside its transfer, and what is left when the run is killed."""
