"""A path that changes under load (`[path] change`), and a sender's interface with a transmit queue of its own."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

import pytest

from comet_delay.userspace import UserspaceBox
from netcommon.errors import LfpError, UsageError
from scenarios.plan import estimate, params
from scenarios.plan.path import Change
from scenarios.plan.plan import load_plan
from scenarios.run import results
from scenarios.trial import path_changes, timed
from scenarios.trial.delay_box import Boxes
from scenarios.trial.files import write_json
from scenarios.virtual import boxes, memory

TINY = """\
[scenario]
name = "tiny"
[path]
delay = "50ms"
rate = "800Mbit"
change = "8s  delay=150ms ab_loss=1%;16s delay=100ms"
[transfer]
duration = "1s"
"""
MS, S = 10**6, 10**9


def plan(tmp_path: Path, text: str = TINY, *overrides: str) -> Any:
    path = tmp_path / "tiny.toml"
    path.write_text(text)
    return load_plan(str(path), overrides=overrides).trials[0]


def test_a_change_has_values_of_both_directions_and_is_one_column(tmp_path: Path) -> None:
    trial = plan(tmp_path)
    first, second = trial.setting.path.changes()
    assert (first.at_ns, first.ab, first.ba) == (8 * S, {"delay": 150 * MS, "loss": 10**7}, {"delay": 150 * MS})
    assert (second.at_ns, second.ab, second.ba) == (16 * S, {"delay": 100 * MS}, {"delay": 100 * MS})
    assert params.of(trial)["change"] == "8s delay=150ms ab_loss=1%; 16s delay=100ms"


def test_memory_is_for_the_longest_path(tmp_path: Path) -> None:
    """800 Mbit/s and 150 ms one way are 15 MB; the way there and back holds 30 MB."""
    setting = plan(tmp_path).setting
    assert estimate.held_bytes(setting, "ab") == 15_000_000
    assert memory.in_flight_bytes(setting) == 30_000_000


def test_the_netem_back_end_has_no_changes(tmp_path: Path) -> None:
    assert boxes.choose(plan(tmp_path), "auto") != "netem"
    assert boxes.choose(plan(tmp_path, TINY, "path.change=none"), "auto") == "netem"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("8s", "want TIME KEY=VALUE"),
        ("8s delay", "'delay': want TIME KEY=VALUE"),
        ("8s delay=1ms; 8s delay=2ms", "the times do not rise"),
        ("8s routers=3", "'routers': does not change while the path is in use"),
        ("8s mtu=100", "mtu: out of range; allowed is 1280 to 9216"),
        ("8s mtu=1600", "mtu: 1600 is more than path.mtu, which is 1500"),
        ("8s delays=1ms", "delays: "),
        ("8s delay=fast", "delay: not a duration"),
    ],
)
def test_a_wrong_change_is_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError, match=r"path\.change") as caught:
        plan(tmp_path, TINY, f'path.change="{text}"')
    assert says in str(caught.value)


class Box:
    """A box that records its requests."""

    def __init__(self, refuses: bool = False) -> None:
        self.ready = {"clock": {"monotonic_ns": time.monotonic_ns() - 10 * S}}
        self.told: list[dict[str, Any]] = []
        self.came = threading.Event()
        self._refuses = refuses

    def set(self, **values: Any) -> None:
        self.told.append(values)
        self.came.set()
        if self._refuses:
            raise UsageError("no memory")


def applied(box: Box, changes: list[Change]) -> AbstractContextManager[None]:
    boxes = Boxes({1: cast("UserspaceBox", box)})
    return timed.applied(boxes.began_ns(), path_changes.acts(None, boxes, changes))


def test_changes_that_are_due_are_made_and_later_ones_are_not(tmp_path: Path) -> None:
    box, changes = Box(), plan(tmp_path).setting.path.changes()
    with applied(box, changes):
        assert box.came.wait(30)
    assert box.told == [{"ab": {"delay_ns": 150 * MS, "loss_ppb": 10**7}, "ba": {"delay_ns": 150 * MS}}]


def test_a_change_that_the_box_refuses_fails_the_trial(tmp_path: Path) -> None:
    box, changes = Box(refuses=True), plan(tmp_path).setting.path.changes()
    with (
        pytest.raises(LfpError, match=r"path\.change at 8s: no memory"),
        applied(box, changes),
    ):
        assert box.came.wait(30)


def test_a_transmit_queue_is_the_senders(tmp_path: Path) -> None:
    settings = params.of(plan(tmp_path, TINY, "path.nic_rate=100Mbit", "path.nic_queue=50"))
    assert (settings["nic_rate_bps"], settings["nic_queue_packets"]) == (10**8, 50)
    assert params.of(plan(tmp_path))["nic_queue_packets"] is None


def test_a_window_that_the_kernel_sizes_is_none(tmp_path: Path) -> None:
    """rttcp says 0 for it."""
    write_json(tmp_path / "status.json", {"state": "done", "verdict": {"valid": True, "reasons": []}})
    write_json(tmp_path / "params.json", {"loss": ""})
    for told, column in ((0, None), (65536, 65536)):
        write_json(tmp_path / "transfer.json", {"receiver": {"window_granted_bytes": told}})
        (row,) = results.rows(tmp_path)
        assert row["window_granted_bytes"] == column


def test_losses_are_columns_by_cause(tmp_path: Path) -> None:
    write_json(tmp_path / "status.json", {"state": "done", "verdict": {"valid": True, "reasons": []}})
    write_json(tmp_path / "params.json", {"loss": ""})
    (without,) = results.rows(tmp_path)
    assert without["lost_queue"] is None and without["stopped_share"] is None
    flow = {
        "stopped_share": 0.5,
        "losses_by_cause": {"receiver": 3, "random_before": 1, "random": 2},
        "losses_seen": {"tail_drop": 3, "aqm": 1},
    }
    write_json(tmp_path / "summary.json", {"main_flow": 1, "flows": [{}, flow]})
    (row,) = results.rows(tmp_path)
    assert (row["lost_receiver"], row["lost_chance"], row["lost_queue"], row["seen_queue"]) == (3, 3, 0, 4)
