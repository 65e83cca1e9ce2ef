"""What every Python part of the testbed shares: errors, quantities, binaries, namespaces, processes.

Nothing here knows any tool; the C half of the same ideas is in ``src/``.
"""
