"""What the checks of randomly drawn settings report about a trial.

`tests/netns/test_scenarios_drawn.py` plants a fault for each.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from bench.invariants import checks
from bench.invariants.draws import draw
from bench.invariants.trials import Trial, until
from scenarios.virtual import waits

MS, MSS, N = 1_000_000, 1448, 20


def limited_by_a_window(*, nagle_ms: int, counted_ms: int, idle: bool = False, cause: str = "receiver_window") -> Trial:
    """A flow of 200 ms that, by pktlogger, a window of 64 KB limits, sampled every 10 ms. ``counted_ms``: how far the
    kernel's counter of windows advances in the fifth span. In that span Nagle's rule holds a short rest for
    ``nagle_ms``."""
    t_ns = np.arange(N) * 10 * MS
    counted = np.where(np.arange(N) == 5, counted_ms, 10) * 1000
    records = np.zeros(N + 2, waits.RECORD)
    records["t_ns"] = np.append(t_ns, [42 * MS, (42 + nagle_ms) * MS])
    records["unsent"] = np.append(np.full(N, 50 * MSS), [598 if nagle_ms else 50 * MSS, 50 * MSS])
    records["mss"] = MSS
    records.sort(order="t_ns")
    samples = {
        "t_ns": t_ns,
        "rwnd_limited_us": np.cumsum(counted),
        "busy_time_us": np.cumsum(counted * (not idle)),
        "snd_wnd": np.full(N, 65535),
        "snd_mss": np.full(N, MSS),
        "snd_cwnd": np.full(N, 144),
        "notsent_bytes": np.full(N, 50 * MSS),
        "rtt_us": np.full(N, 40_000),
    }
    began, ended = np.array([0]), np.array([int(t_ns[-1])])

    def rows_of(_flow: Any, *causes: str) -> tuple[Any, Any, Any]:
        return began, ended, np.array([cause in causes])

    return cast(
        Trial,
        SimpleNamespace(
            rows=[{"flow_name": "main", "congestion": "cubic", "sender_pace_bps": None}],
            captured=lambda row: {"flow": 0, "mss_in_use": MSS},
            samples=lambda row: samples,
            rows_of=rows_of,
            time_of=lambda flow, *causes: until(np.append(began, ended[-1:]), rows_of(flow, *causes)[2]),
            records_of=lambda flow: records,
            acks={"t_received_ns": np.array([0]), "flow": np.array([0])},
        ),
    )


@pytest.mark.parametrize(
    ("nagle_ms", "counted_ms", "breaks"), [(0, 10, False), (0, 8, False), (0, 7, True), (3, 7, False)]
)
def test_a_counter_of_windows_stands_while_a_short_rest_awaits_more(
    nagle_ms: int, counted_ms: int, breaks: bool
) -> None:
    """Two of ten milliseconds are steps of the kernel's clock. Nagle's rule holds the short rest, not a window."""
    assert bool(list(checks.windows(limited_by_a_window(nagle_ms=nagle_ms, counted_ms=counted_ms)))) == breaks


@pytest.mark.parametrize(
    ("idle", "cause", "breaks"),
    [
        (False, "receiver_window", False),
        (True, "receiver_window", True),
        (True, "application", False),
        (True, "congestion_avoidance", True),
        (True, "fast_recovery", True),
        (True, "pacing", False),
    ],
)
def test_a_kernel_that_is_idle_waits_for_its_program(idle: bool, cause: str, breaks: bool) -> None:
    trial = limited_by_a_window(nagle_ms=0, counted_ms=10, idle=idle, cause=cause)
    assert bool(list(checks.idle(trial))) == breaks


@pytest.mark.parametrize(
    ("pairs", "what", "breaks"),
    [(2, "outages 1", False), (1, "outages 1", True), (2, "rx_overflows 3", True), (1, "", False)],
)
def test_a_tunnel_is_down_only_where_gateways_overfill_the_line(pairs: int, what: str, breaks: bool) -> None:
    """Each pair of gateways sends at the line's rate."""
    pair = {"near": {"parameters": {"rate_bps": 5_000_000}}}
    causes = [{"kind": "gateway", "short": f"far gateway {what}"}] if what else []
    trial = SimpleNamespace(
        status={"state": "done", "asked": [], "verdict": {"causes": causes, "reasons": causes}},
        gateway="router",
        rows=[{"rate_bps": 5_000_000}],
        json=lambda name: pair | {"others": {"2": pair} if pairs > 1 else {}},
    )
    assert bool(list(checks.ends(cast(Trial, trial)))) == breaks


def test_a_trial_that_cannot_be_judged_is_broken(tmp_path: Path) -> None:
    """Whatever a trial's files lack, the next draw is judged, too."""
    (said,) = checks.broken(Trial(draw(1, 0), tmp_path, [])).items()
    assert said[0] == checks.JUDGED and "KeyError('state') in checks.py" in said[1]

    def fails(trial: Trial) -> Any:
        yield "first"
        raise KeyError("t0_realtime_ns")

    (tmp_path / "status.json").write_text('{"state": "done"}')
    one = Trial(draw(1, 0), tmp_path, [{"valid": True}])
    found = checks.broken(one, {"fails": fails, "holds": lambda trial: iter(())})
    assert list(found) == ["fails"] and found["fails"].startswith("cannot be judged: KeyError('t0_realtime_ns')")


def test_samples_are_on_the_captures_clock_though_their_flow_does_not_say_when_it_began(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    (tmp_path / "flows" / "f1").mkdir(parents=True)
    parquet.write_table(pa.table({"t_ns": [5, 6], "stream": [2, 2]}), tmp_path / "flows" / "f1" / "tcp_info.parquet")
    (tmp_path / "status.json").write_text('{"state": "done", "clock": {"monotonic_ns": 7, "realtime_ns": 1007}}')
    ends = {"sender": {}, "flows": {"f1": {"sender": {"streams": [{"stream": 2, "local": "10.0.0.1:4567"}]}}}}
    rows = [{"flow": 0, "flow_name": "main"}, {"flow": 1, "flow_name": "f1"}]
    trial = Trial(draw(1, 0), tmp_path, rows)
    trial.__dict__["transfer"] = ends
    assert trial.samples(rows[1])["t_ns"].tolist() == [1005, 1006]
    assert trial.sampled_ns({"sender": {"port": 4567}}).tolist() == [1005, 1006]


@pytest.mark.parametrize(("steady_bps", "breaks"), [(57_229_723, False), (64_900_000, False), (65_000_000, True)])
def test_the_first_packet_was_on_the_line_before_it_arrived(steady_bps: float, breaks: bool) -> None:
    """60 KB are read between 1.1 and 9.7 ms. A line of 50 Mbit/s takes 1.44 ms for the first packet."""
    trial = cast(
        Trial,
        SimpleNamespace(
            rows=[{"flow_name": "f1", "steady_bps": steady_bps}],
            gateway="router",
            ends=[{"receiver": {"first_byte_ns": 1_120_512, "last_byte_ns": 9_709_056}}],
            asked={"path": {"mtu": 9000, "change": "none"}},
            draw=SimpleNamespace(values={"path.rate": 50}),
        ),
    )
    assert bool(list(checks.line(trial))) == breaks
