"""The abilities that each back end reports, and the choice of a back end."""

from __future__ import annotations

import pytest

import netcommon.options
from comet_delay import backend, netem_kernel, netem_plan, options
from comet_delay.backend import Capabilities, capabilities, choose
from netcommon.binaries import MissingBinary
from netcommon.errors import MissingError, UsageError


def _row(name: str, unit: str | None) -> netcommon.options.Option:
    kind: netcommon.options.Kind = "quantity" if unit else "text"
    return netcommon.options.Option(name, None, kind, unit, None, None, None, None, None, None, (), None, "")


def test_options_are_read_from_the_daemons_own_list() -> None:
    path = [("queue", "size"), ("reorder-by", "duration"), ("loss", None)]
    path += [("queue-packets", "number"), ("framing", None)]
    rows = [_row("memory", "size"), _row("seed", "number")]
    rows += [_row(prefix + name, unit) for prefix in ("", "ab-", "ba-") for name, unit in path]
    read = options.of({row.name: row for row in rows})
    assert set(read.box) == {"memory", "seed"}
    assert set(read.path) == {"queue_bytes", "reorder_by_ns", "loss", "loss_ppb", "queue_packets", "framing"}
    given: dict[str, int | str] = {"queue_bytes": 1024, "loss_ppb": 10**7, "framing": "ip"}
    assert read.arguments(given, "ba-") == {
        "ba-queue": "1KB",
        "ba-loss": "1%",
        "ba-framing": "ip",
    }
    asked: dict[str, int | str] = {"loss": "gilbert:1%,10", "queue_packets": 5}
    assert read.arguments(asked) == {"loss": "gilbert:1%,10", "queue-packets": "5"}
    with pytest.raises(UsageError, match="jitter_ns: this comet-delay has no such parameter; it has"):
        read.arguments({"jitter_ns": 1})


def test_the_installed_daemon_has_what_both_back_ends_share() -> None:
    known = options.installed()
    assert set(netem_plan.DEFAULTS) <= set(known.path)
    assert {"memory", "spin", "poll"} <= set(known.box)


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> dict[str, Capabilities]:
    cannot = {"seed": "cannot be seeded", "loss": "no models"}
    found = {
        "comet": Capabilities("comet", None, frozenset({"delay_ns", "loss", "seed"}), {}),
        "netem": Capabilities("netem", None, frozenset({"delay_ns", "old_ns"}), cannot),
    }
    monkeypatch.setattr(backend, "capabilities", found.__getitem__)
    return found


def test_the_daemon_is_preferred(both: dict[str, Capabilities]) -> None:
    assert choose(["delay_ns"]) == "comet"
    assert choose(["delay_ns"], "netem") == "netem"
    assert choose(["old_ns"]) == "netem"


def test_netem_without_tun(both: dict[str, Capabilities]) -> None:
    both["comet"] = Capabilities("comet", "/dev/net/tun is missing", frozenset({"delay_ns", "loss"}), {})
    assert choose(["delay_ns"]) == "netem"
    with pytest.raises(UsageError, match=r"comet: /dev/net/tun is missing \| netem: loss: no models"):
        choose(["loss"])
    with pytest.raises(MissingError, match="tun is missing"):
        choose(["delay_ns"], "comet")


def test_neither(both: dict[str, Capabilities]) -> None:
    with pytest.raises(UsageError, match="netem: seed: cannot be seeded"):
        choose(["seed"], "netem")
    with pytest.raises(UsageError, match="nonsense_ns: no such parameter"):
        choose(["nonsense_ns"])
    with pytest.raises(UsageError, match="want auto, comet or netem"):
        choose([], "dummynet")
    for name in backend.BACKENDS:
        both[name] = Capabilities(name, f"no {name}", frozenset(), {})
    with pytest.raises(MissingError, match=r"comet: no comet \| netem: no netem"):
        choose([])


def test_what_is_missing_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> None:
        raise MissingBinary("comet-delay: not found")

    monkeypatch.setattr(netcommon.options, "find", absent)
    assert "not found" in str(capabilities("comet").missing)
    monkeypatch.setattr(netem_kernel, "probe", lambda: ("this kernel has no sch_netem", False))
    found = capabilities("netem")
    assert found.missing == "this kernel has no sch_netem"
    assert "Linux 6.6" in found.cannot["seed"] and found.can == set(netem_plan.DEFAULTS)
    assert set(options.installed_or_basic().path) == set(netem_plan.DEFAULTS)


def test_netem_with_a_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netem_kernel, "probe", lambda: (None, True))
    found = capabilities("netem")
    assert found.missing is None and "seed" in found.can and "seed" not in found.cannot


def test_netem_refuses_bunching_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """sch_netem's get_slot_next() opens the next slot a period after it looked at a packet, not at multiples of the
    period."""
    monkeypatch.setattr(netem_kernel, "probe", lambda: (None, True))
    with pytest.raises(UsageError, match=r"netem: bunch_ns: its slots begin with a packet, .* follow the clock"):
        choose(["bunch_ns"], "netem")
    with pytest.raises(UsageError, match="bunch_packets: not done with netem; use the box"):
        choose(["bunch_packets"], "netem")


def test_netem_refuses_a_drain_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netem_kernel, "probe", lambda: (None, True))
    with pytest.raises(UsageError, match="netem: drain_rate_bps: its one queue is the bottleneck's"):
        choose(["drain_rate_bps"], "netem")
