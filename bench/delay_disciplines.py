"""delay.disciplines: each discipline of the box that the kernel of virtual time has as well, against the kernel's own.

Both get the same arrivals at the same nanosecond, in a guest each. The bounds were set before the first measurement.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.accuracy import disciplines
from bench.registry import Bench, Place, Result, Row
from netcommon.errors import LfpError
from scenarios.virtual import program

SECONDS, TIMEOUT_S = 10, 900
ROOT = Path(__file__).resolve().parents[1]
PACKETS, MARKS, WAIT = 0.02, 0.10, 0.10  # shares by which ours may differ from the kernel's
_FEW = 10  # or this many packets or marks
METHOD = f"""\
Three flows without ECN, with ECT(0) and with ECT(1) send UDP datagrams with Poisson arrivals, together
{disciplines.LOAD:.0%} of a line of {disciplines.RATE_BPS / 1e6:g} Mbit/s, for {SECONDS} s of virtual time. They do not
react to marks or drops. HTB is the kernel's line. The table has our figures. The bounds are the kernel's figures
± {PACKETS:.0%} for packets and ± {MARKS:.0%} for marks (or ± {_FEW}), and for waits in the queue ± {WAIT:.0%} or one
packet's time on the line, {disciplines.PACKET_NS / 1e6:.2f} ms. `plain` has no discipline: it shows that both sides
have the same arrivals and the same line. CoDel, PIE and FQ-CoDel have ECN; PIE has de-randomisation (RFC 8033, 5.4),
as in the kernel. The kernel's PIE and DualPI2 draw at random; of ours only PIE does. The policer drops, and has no
queue.

**A row outside its bounds does not prove a difference.** Under a load that does not react, the smallest differences
change CoDel's course. The pseudo-code of RFC 8289, run on these arrivals, gives waits of 63.9, 100.3 and 108.7 ms
(p50, p90, p99); our box has 63.2, 100.3 and 108.7 ms. On a line that is 0.01 % slower it gives 71.1, 106.3 and
115.4 ms, on one that is 0.05 % slower 75.2, 112.7 and 122.3 ms. HTB is 0.05 % slower than our line (`plain`). With
the kernel's approximation of 1/√count the pseudo-code gives 63.0, 95.3 and 107.6 ms on our line. Other tests check
each discipline bit by bit (`tests/c/comet_delay/queue_reference.c`)."""


def _measured(name: str, side: str, seconds: float, place: Place) -> dict[str, Any]:
    argv = [sys.executable, "-m", "bench.accuracy.disciplines", name, side, str(seconds)]
    done = program.run(argv, folder=ROOT, timeout_s=TIMEOUT_S, memory_bytes=2**29, ledger=place.ledger)
    if done.status != 0:
        raise LfpError(f"delay.disciplines: {name}, {side}: {done.output.strip().splitlines()[-1:]}")
    return dict(json.loads(done.output.splitlines()[-1]))


def compared(name: str, ours: dict[str, Any], kernel: dict[str, Any]) -> Iterator[Row]:
    """The rows of a discipline: our figures, within bounds around the kernel's."""
    for key, share in (("packets", PACKETS), ("marks", MARKS)):
        for flow, theirs in kernel[key].items():
            off = max(share * theirs, _FEW)
            if theirs or ours[key][flow]:
                note = f"kernel: {theirs}, of {ours['sent']} sent by all"
                yield Row(f"{name}, {key} of {flow}", "packets", ours[key][flow], theirs - off, theirs + off, note)
    for percent, theirs in kernel["wait_ms"].items():
        off = max(WAIT * theirs, disciplines.PACKET_NS / 1e6)
        note = f"kernel: {theirs:.3f}"
        yield Row(f"{name}, wait, p{percent}", "ms", ours["wait_ms"][percent], theirs - off, theirs + off, note)


def measure(place: Place) -> Iterator[Result]:
    """All rows. ``--seconds``: of virtual time, for each side of each discipline."""
    rows, seconds = [], place.seconds or SECONDS
    for name in disciplines.CASES:
        ours, kernel = (_measured(name, side, seconds, place) for side in ("ours", "kernel"))
        for row in compared(name, ours, kernel):
            rows.append(row)
            verdict = "within" if row.within else "OUTSIDE"
            place.say(f"delay.disciplines {row.what}: {row.measured:.6g} {row.unit} {verdict} ({row.note})")
    yield Result("delay.disciplines", "share of rows within bounds", None, rows=rows, method=METHOD)


BENCH = Bench(
    "delay.disciplines", "CoDel, PIE, FQ-CoDel, DualPI2 and policer against the kernel's own, in virtual time", measure
)
