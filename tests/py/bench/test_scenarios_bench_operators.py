"""log.operators: draws depend only on cause and seed, and the bench understands the first line that `analyse`
prints."""

from __future__ import annotations

import json
import socket
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support.virtual import virtual

from bench.log import operators, operators_world
from bench.log.operators_recipes import CAUSES, RENO, STACKS, Recipe, recipe
from bench.publish import write
from bench.registry import Place, Result, Row, load
from netcommon.binaries import find
from netcommon.ledger import Ledger

SEEDS = range(1000, 1020)


def test_both_are_listed() -> None:
    assert {operators.NAME, operators.REAL} <= set(load())


@pytest.mark.parametrize("cause", CAUSES)
def test_a_recipe_follows_from_cause_and_seed(cause: str, tmp_path: Path) -> None:
    made = [recipe(cause, seed) for seed in SEEDS]
    assert made == [recipe(cause, seed) for seed in SEEDS]
    assert len({one.line for one in made}) == len(SEEDS) and len({one.stack for one in made}) >= 3
    for one in made:
        assert 5e6 <= one.line.rate_bps <= 200e6 and 10 <= one.line.rtt_ms <= 200 and one.client["seconds"] <= 10
        assert operators.trial_of(one, tmp_path, 1).setting.path.direction("ab").rate_bps == one.line.rate_bps


def test_every_right_verdict_is_one_of_pktlogger() -> None:
    done = subprocess.run([find("pktlogger"), "--causes-json"], capture_output=True, text=True, check=True, timeout=30)
    rows = json.loads(done.stdout)
    known = {row["name"] for kind in ("limits", "verdicts") for row in rows[kind]}
    assert {name for _, right, *_ in CAUSES.values() for name in right} <= known


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (
            "The transfer went at 8 Mbit/s, limited for 91 % of the time by losses and what followed them. 9 of 99 "
            "packets were lost (9 %), most of them to a full queue. Give",
            "losses: tail_drop",
        ),
        ("The transfer went at 8 Mbit/s, limited for 91 % of the time by the send buffer. At most", "send_buffer"),
        (
            "The transfer went at 8 Mbit/s, limited for 91 % of the time by the path's rate, which other connections "
            "shared, or by losses at it and what followed them. Let",
            "cross_traffic",
        ),
        ("The transfer went at 8 Mbit/s, as fast as the receiver's window allows. It", "receiver_window"),
        ("flow 0, from 10.0.0.1:1 to 10.0.0.2:2: 0 bytes", operators.NO_VERDICT),
    ],
)
def test_the_first_line_is_understood(line: str, name: str) -> None:
    assert operators.verdict_name(line) == name


def test_the_table_has_a_row_for_each_cause() -> None:
    confusion = Counter({("slow reader", "slow_reader"): 19, ("slow reader", "receiver_window"): 1})
    lines = operators.table(confusion, Counter({"slow reader": 19})).splitlines()
    assert lines[0] == "| truth | receiver_window | slow_reader | right |"
    assert "| slow reader | 1 | 19 | 95% |" in lines and len(lines) == 2 + len(CAUSES)


def test_a_page_keeps_what_other_benches_wrote(tmp_path: Path) -> None:
    page, rows = tmp_path / "causes.md", [Row("one", "share", 1, 0, 1)]
    for name, method in (("log.causes", "first"), ("log.operators", "second"), ("log.causes", "again")):
        write(Result(name, "of rows", None, rows=rows, method=method), page)
    text = page.read_text()
    assert text.index("# log.causes") < text.index("again") < text.index("# log.operators") < text.index("second")
    assert "first" not in text and text.count("# log.causes\n") == 1


@pytest.mark.parametrize("invalid", [2, 3])
def test_a_trial_that_was_not_valid_is_made_again_and_never_judged(
    invalid: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    said: list[str] = []

    def make(place: Place, one: Recipe, folder: Path, seed: int) -> None:
        made.append(seed)
        if len(made) <= invalid:
            raise operators.NotValid("the box was late")

    monkeypatch.setattr(operators, "judged", lambda one, folder, seed: operators.Judged(one, seed, "", "path_rate"))
    monkeypatch.setattr(operators, "CAUSES", ["nothing wrong"])
    with Ledger.open() as ledger:
        found = operators._trials(Place(ledger, tmp_path, 1, said.append), 1, make, 1)
    assert len(made) == 3 and len(found) == (invalid < 3)
    assert sum("the box was late" in line for line in said) == invalid


def test_a_machine_with_another_default_of_congestion_control_makes_the_same_trials() -> None:
    """A namespace accepts only the default congestion controls that its machine allows to everyone, so programs set
    the control at their sockets."""
    made = {one.stack: one for one in (recipe("nothing wrong", seed) for seed in range(1000, 1060))}
    assert {stack: one.world["control"] for stack, one in made.items()} == dict.fromkeys(STACKS, "cubic") | {
        RENO: "reno"
    }
    control = operators_world._socket({"control": "reno"}).getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert control.rstrip(b"\0") == b"reno"


IN_SHORT = ("window scaling off", "path-MTU black hole", "a gateway's buffer")


@pytest.mark.parametrize("cause", [pytest.param(cause, marks=virtual) for cause in IN_SHORT])
def test_an_operator_reads_the_cause_first(cause: str, tmp_path: Path) -> None:
    """Plain tcpdump at both ends, in virtual time."""
    seed = 1
    with Ledger.open() as ledger:
        one = recipe(cause, seed)
        operators.in_virtual_time(Place(ledger, tmp_path, 1, print), one, tmp_path, seed)
    found = operators.judged(one, tmp_path, seed)
    assert found.right, f"seed {seed}: {found.line}"
