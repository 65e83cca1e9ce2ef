"""lft.cpu: the processor time that a gigabyte costs both gateways at 800 Mbit/s, RTT 200 ms and 1 % loss.

Four references run in the same rounds:

- the cipher alone: what ``openssl speed`` takes to encrypt a gigabyte and to decrypt it
- the floor (lft_ref/floor/floor.c): the gateways' system calls and cipher, without a protocol
- the floor with memory: the near end keeps each frame for a round trip and the far end holds it for as long, as any
  tunnel that repairs loss must; still without a protocol
- two relays of socat, which only copy between two TCP sockets; on a path without loss, because with loss TCP would
  carry next to nothing

The kernel charges a process for work that it does on the process's behalf. So the figures include a packet's path from
the gateway's ``sendmsg`` or ``writev`` to the queue of the next device.
"""

from __future__ import annotations

import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.gateway_lab import LAN, WAN
from bench.lft_lab import LONG_PATH, RATE_BPS, ROUTER, SERVER, lab
from bench.lft_load import PORT
from bench.registry import Bench, Place, Result, Row
from netcommon.binaries import find
from netcommon.errors import LfpError
from netcommon.process import Tool

NAME = "lft.cpu"
PAIRS, SECONDS, REFERENCE_SECONDS, WARM_UP_S = 5, 20, 8, 4
LOSS_PPB = 10_000_000
MOST_S_GB = 2.2
CIPHER, FRAME_BYTES = "aes-128-gcm", 1440
# As the gateways do at this rate and round trip: a batch holds 485 us of frames, and the receiver pauses between reads.
FLOOR_FRAMES, FLOOR_REST_NS = 32, 1_562_500
RTT_NS = 2 * int(LONG_PATH["delay_ns"])
LOAD = Path(__file__).with_name("lft_load.py")
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Used:
    """Processor time in seconds, in user mode and in the kernel."""

    user: float
    system: float

    @property
    def whole(self) -> float:
        """Both together."""
        return self.user + self.system

    def since(self, before: Used) -> Used:
        """What was used after ``before``."""
        return Used(self.user - before.user, self.system - before.system)


def used_by(pid: int) -> Used:
    """What a process has used so far (proc(5), /proc/PID/stat)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return Used(int(fields[11]) * TICK_S, int(fields[12]) * TICK_S)


def _octets_written(pid: int) -> int:
    """What a process has passed to write(2) and writev(2) so far (proc(5), /proc/PID/io)."""
    return int(re.findall(r"^wchar: (\d+)$", Path(f"/proc/{pid}/io").read_text(encoding="ascii"), re.MULTILINE)[0])


def _gateways(place: Place, seconds: int) -> dict[str, float]:
    """CPU s/GB of each gateway in each mode, and the goodput."""
    path = LONG_PATH | {"loss_ppb": LOSS_PPB}
    with lab(place, path) as made, made.gateways(*ROUTER, "--rate", f"{RATE_BPS}bit", whole_frames=True):
        before = {which: used_by(gateway.pid) for which, gateway in made.running.items()}
        end = made.transfer(duration_ns=seconds * 10**9)
        used = {which: used_by(gateway.pid).since(before[which]) for which, gateway in made.running.items()}
    gigabytes = end.summary.bytes / 1e9
    figures = {f"{which} user": used[which].user / gigabytes for which in ("near", "far")}
    figures |= {f"{which} system": used[which].system / gigabytes for which in ("near", "far")}
    return figures | {"both": sum(figures.values()), "Mbit/s": end.summary.short_term_bps / 1e6}


def _cipher() -> float:
    """CPU s/GB of the cipher at both ends: every octet is encrypted once and decrypted once."""
    total = 0.0
    for direction in ((), ("-decrypt",)):
        argv = ["openssl", "speed", "-mr", "-seconds", "1", "-bytes", str(FRAME_BYTES), *direction, "-evp", CIPHER]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
        found = re.search(r"^\+F:\d+:[^:]+:([\d.]+)$", done.stdout, re.MULTILINE)
        if done.returncode or not found:
            raise LfpError(f"{' '.join(argv)}: {done.stderr.strip() or 'no figure in what it printed'}")
        total += 1e9 / float(found[1])
    return total


def _relays(place: Place, seconds: int, loss_ppb: int, near: Sequence[str], far: Sequence[str]) -> float:
    """CPU s/GB of two programs that run instead of the gateways and relay one stream, after the windows of its TCP
    connections have grown."""
    python = [sys.executable, str(LOAD)]
    with ExitStack() as stack:
        made = stack.enter_context(lab(place, LONG_PATH | {"loss_ppb": loss_ppb}))

        def started(argv: Sequence[str], netns_pid: int) -> Tool:
            return stack.enter_context(Tool(argv, netns_pid=netns_pid, json_lines=False, ledger=made.ledger))

        sink = started([*python, "serve", "1", "0", str(WARM_UP_S + seconds + 60)], made.server)
        sink.wait_event("line", 10)
        relays = [started(far, made.far), started(near, made.near)]
        last = relays[0].pid  # the near gateway may have read octets that have not arrived yet
        for relay in relays:
            relay.wait_event("line", 10)
        started([*python, "send", LAN["near"][4], "1"], made.client)
        time.sleep(WARM_UP_S)
        before, octets_before = [used_by(relay.pid) for relay in relays], _octets_written(last)
        time.sleep(seconds)
        used = [used_by(relay.pid).since(first).whole for relay, first in zip(relays, before, strict=True)]
        gigabytes = (_octets_written(last) - octets_before) / 1e9
    if not gigabytes:
        raise LfpError(f"{NAME}: {near[0]} passed nothing on")
    return sum(used) / gigabytes


def _floor(place: Place, seconds: int, memory_ns: int) -> float:
    program, port, rate, memory = str(find("lft-floor")), str(PORT), str(RATE_BPS), str(memory_ns)
    near = [program, "near", port, WAN["far"][4], rate, str(FLOOR_FRAMES), memory]
    return _relays(place, seconds, LOSS_PPB, near, [program, "far", port, SERVER, str(FLOOR_REST_NS), rate, memory])


def _socat(place: Place, seconds: int) -> float:
    def relay(to: str) -> list[str]:
        listen, connect = f"tcp-l:{PORT},reuseaddr", f"tcp:{to}:{PORT}"
        return ["sh", "-c", 'echo ready; exec socat -b 262144 "$@"', "socat", listen, connect]

    return _relays(place, seconds, 0, relay(WAN["far"][4]), relay(SERVER))


def _said(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items())


def measure(place: Place) -> Iterator[Result]:
    """Medians of the pairs."""
    seconds = place.seconds or SECONDS
    rounds: list[dict[str, float]] = []
    for number in range(1, (place.pairs or PAIRS) + 1):
        figures = _gateways(place, seconds)
        short = min(seconds, REFERENCE_SECONDS)
        figures |= {"cipher": _cipher(), "floor": _floor(place, short, 0), "socat": _socat(place, short)}
        figures["floor with memory"] = _floor(place, short, RTT_NS)
        rounds.append(figures)
        place.say(f"{NAME} {number}: {_said(figures)}")

    def row(what: str, key: str, unit: str = "CPU s/GB", most: float = math.inf) -> Row:
        return Row(what, unit, statistics.median(figures[key] for figures in rounds), 0.0, most)

    rows = [
        row("both gateways", "both", most=MOST_S_GB),
        row("near, user mode", "near user"),
        row("near, kernel", "near system"),
        row("far, user mode", "far user"),
        row("far, kernel", "far system"),
        row(f"{CIPHER} of OpenSSL alone, both ends", "cipher"),
        row("cipher and system calls alone, both ends", "floor"),
        row("the same with a round trip's memory at each end", "floor with memory"),
        row("two relays of socat, no loss", "socat"),
        row("goodput", "Mbit/s", "Mbit/s"),
    ]
    method = (
        f"800 Mbit/s of IP packets, RTT 200 ms, 1 % loss, MTU 1500, limit 800 Mbit/s, {CIPHER}, router model, one "
        f"session, {seconds} s; medians of {len(rounds)}."
    )
    yield Result(NAME, "within bounds", None, rows=rows, method=method, extra={"rounds": rounds})


BENCH = Bench(NAME, "processor time of both gateways a gigabyte, 800 Mbit/s x 200 ms, 1 % loss", measure)
