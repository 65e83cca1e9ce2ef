"""What holds for all tests.

Physical checks and browser checks share the machine with whatever else runs on it: one that fails is run again, at most
twice, and the summary counts it as rerun. A pure test that fails has failed.
"""

import pytest

SHARES_THE_MACHINE = ("netns", "browser", "virtual")
TWO_ENDED = ("test_rttcp_", "test_netcommon_process")  # real processes and sockets, on loopback


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name.startswith(TWO_ENDED) or any(item.get_closest_marker(name) for name in SHARES_THE_MACHINE):
            item.add_marker(pytest.mark.flaky(reruns=2))
