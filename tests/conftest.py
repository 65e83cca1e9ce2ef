"""What holds for all tests.

Physical checks and browser checks measure the machine, so they run alone on it (`make test` runs all others side by
side), and one that fails is run again, at most twice; the summary counts it as rerun. So are those of real processes
and sockets on loopback, which mostly wait. A pure test that fails has failed.
"""

import signal

import pytest

MEASURES_THE_MACHINE = ("netns", "browser")
TWO_ENDED = ("test_rttcp_", "test_netcommon_process")  # real processes and sockets, on loopback


def pytest_configure() -> None:
    """Ctrl-C ends what a terminal starts; what a script starts in its background ignores it, and so do its children."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        virtual = item.get_closest_marker("virtual")
        physical = any(item.get_closest_marker(name) for name in MEASURES_THE_MACHINE)
        if physical or item.path.name.startswith(TWO_ENDED):
            item.add_marker(pytest.mark.flaky(reruns=2))
        if physical and not virtual:
            item.add_marker(pytest.mark.alone)
