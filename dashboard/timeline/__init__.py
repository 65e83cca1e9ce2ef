"""The timeline of a captured trial: its data, its figure, its panels, and the addresses that give its views."""
