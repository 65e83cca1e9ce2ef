"""The kernel's record of what TCP senders in virtual time wait for is right, and recording changes no result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.virtual import virtual

from bench.invariants import oracle, trials
from bench.invariants.draws import SPACE, Draw
from bench.invariants.oracle import Comparison
from scenarios.virtual import waits

pytestmark = [pytest.mark.netns, *virtual, pytest.mark.timeout(300)]

# What a sender waits for most of its time, and the settings that cause it. All other settings are the plainest.
CASES: dict[str, dict[str, Any]] = {
    "congestion": {"path.ab_loss": "1%"},
    "window": {"window": "16KB"},
    "send_buffer": {"wmem": "4096 65536 131072", "path.delay": 40},
    "pacing": {"pace": 4},
}


def drawn() -> list[Draw]:
    plain: dict[str, Any] = {name: values[0] for name, values in SPACE.items() if not name.startswith("flow.")}
    return [Draw(name, 1, plain | values) for name, values in CASES.items()]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of the trials with the record of what senders wait for, and of the same trials without it."""
    found = []
    for with_waits in (True, False):
        run = trials.run(drawn(), tmp_path_factory.mktemp("waits"), with_waits=with_waits)
        found.append(run[0].folder.parent)
    return found[0], found[1]


def compared(folder: Path) -> dict[str, Comparison]:
    """The comparison for the flow with the most data of each trial; all other flows are control connections."""
    read = trials.read(drawn(), folder.parent)
    return {one.draw.name: max(oracle.flows(one), key=lambda own: own[0]["bytes"])[1] for one in read}


def test_a_sender_waits_for_what_its_trial_lets_it_wait_for(folders: tuple[Path, Path]) -> None:
    for name, found in compared(folders[0]).items():
        assert found.kernel_s.get(name, 0) > sum(found.kernel_s.values()) / 2, f"{name}: {found}"


def test_writing_it_down_changes_no_packet_and_no_time(folders: tuple[Path, Path]) -> None:
    written, plain = ({file.relative_to(one): file for file in sorted(one.rglob("*"))} for one in folders)
    own = {Path(f"{number:04d}") / waits.FILE for number in range(len(CASES))}
    assert own <= written.keys() and plain.keys() == written.keys() - own
    same = [name for name in plain if name.suffix in (".parquet", ".pcapng") or name.name == "summary.json"]
    assert sum(name.suffix == ".pcapng" for name in same) == 2 * len(CASES)
    assert [name for name in same if written[name].read_bytes() != plain[name].read_bytes()] == []
