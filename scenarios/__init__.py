"""The orchestrator: the ``lfp`` command, the scenario model, topologies, the runner and its results."""
