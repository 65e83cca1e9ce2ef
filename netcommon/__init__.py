"""What every Python part of the testbed shares: errors, quantities, binaries, namespaces, processes.

Nothing here depends on any tool; ``src/`` has the C counterparts.
"""
