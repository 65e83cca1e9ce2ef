"""Settings and fixtures for all tests.

`make test` runs them side by side. Those that judge time on the real machine are marked ``alone`` and run one at a
time; those that use something that the machine has only once wait for one another (``one_at_a_time``). A test that
fails has failed: none is run again. A test of time that the machine disturbed ends as inconclusive (`support.witness`)
and is listed at the end with its figures.

Tests in `netns` that run in real time need root of the machine. For an ordinary user only those in virtual time run.
`test_unprivileged.py`, run by root, tests what `lfp` does for an ordinary user in real time. Rejected: all tests inside
a user namespace. Most pass there, but tcpdump, setpriv and the folders below /run need root of the machine.
"""

from __future__ import annotations

import fcntl
import gc
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.witness import INCONCLUSIVE

from netcommon import netns

if TYPE_CHECKING:  # loading Playwright takes a third of a second
    from playwright.sync_api import BrowserContext, Page

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a thread for each core spins whenever a program loads numpy

NETNS = Path(__file__).resolve().parent / "netns"
BROWSER = Path(__file__).resolve().parent / "browser"


def pytest_configure() -> None:
    """Makes SIGINT raise KeyboardInterrupt again: a script's background processes and their children ignore it."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` looks for tests to run alone in netns, and nowhere else. Without root, tests in real time are
    skipped, each with the reason."""
    for item in items:
        if item.get_closest_marker("alone") and NETNS not in item.path.parents:
            raise pytest.UsageError(f"{item.nodeid} is marked 'alone': 'make test' finds such tests in {NETNS} only")
    if os.geteuid() == 0:
        return
    for item in items:
        if NETNS in item.path.parents and not item.get_closest_marker("virtual"):
            item.add_marker(pytest.mark.skip(reason="in real time: needs root (sudo make test-py runs it)"))


def pytest_collection_finish() -> None:
    """Excludes all loaded objects from garbage collection, which would otherwise traverse them again and again: a
    seventh of the CPU time of the processes that run tests."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Sends tests that share a fixture to one worker."""
    from support.schedule import Together

    return Together(config, log)


@pytest.fixture(autouse=True)
def _one_at_a_time(request: pytest.FixtureRequest) -> Iterator[None]:
    """Holds a machine-wide lock while a test uses something that the machine has only once."""
    if not request.node.get_closest_marker("one_at_a_time"):
        yield
        return
    with (Path(tempfile.gettempdir()) / f"lfp-tests-{os.geteuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module", autouse=True)
def _own_network(request: pytest.FixtureRequest) -> Iterator[None]:
    """Gives root's browser tests a network of their own. Chromium gives its requests up when an interface of the
    machine comes or goes (net::ERR_NETWORK_CHANGED), and other tests make and remove some."""
    if BROWSER not in request.path.parents or os.geteuid() != 0:
        yield
        return
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    netns.enter_new()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    yield
    netns.enter(f"/proc/self/fd/{before}")
    os.close(before)


@pytest.fixture(scope="module")
def browser() -> Iterator[BrowserContext]:
    """The browser of a file's tests."""
    from support.chromium import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: BrowserContext) -> Iterator[Page]:
    """A page of the browser. The test fails when the page's console reports an error."""
    from support.chromium import watched_page

    with watched_page(browser) as opened:
        yield opened


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Lists the inconclusive tests: each with what was measured, and what its witness saw."""
    found = [line for report in terminalreporter.getreports("skipped") if (line := inconclusive(report))]
    if found:
        terminalreporter.section(f"inconclusive: {len(found)}")
        for line in found:
            terminalreporter.write_line(line)


def inconclusive(report: pytest.TestReport) -> str | None:
    """Name and figures of a test that ended as inconclusive; None of one that was skipped for another reason."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    _, mark, figures = reason.partition(INCONCLUSIVE)
    return f"{report.nodeid}: {figures}" if mark else None
