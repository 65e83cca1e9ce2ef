"""The orchestrator: scenarios, networks, trials and runs."""
