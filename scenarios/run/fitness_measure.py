"""Measures for three seconds what `fitness` judges: timers, hypervisor, the speed of a veth pair.

Timers are measured the whole time, and a stream runs for half of it: the timers of an idle machine would promise more
than a trial gets. The CPU that other programs use is measured before the stream.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from netcommon import readable, unprivileged
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from netcommon.process import START_TIMEOUT_S
from scenarios.run import runner
from scenarios.run.fitness import Fitness
from scenarios.trial import witness
from scenarios.trial.validity import CpuTimes

SECONDS = 3.0
_PERIOD_NS = 1_000_000
_PATIENCE_S = 30.0
_ALONE_S, _SET_UP_S = 1.0, 0.5  # parts of the time: measuring without our own load, creating the veth pair


def measure(ledger: Ledger, seconds: float = SECONDS) -> Fitness:
    """This machine's figures, after about ``seconds``. MissingError without the witness. It is not an error if a veth
    pair cannot be created."""
    with witness.sleeper(ledger, period_ns=_PERIOD_NS) as sleeper:
        sleeper.wait_event("ready", START_TIMEOUT_S)
        before, end_s = CpuTimes.now(), time.monotonic() + seconds
        time.sleep(_ALONE_S)
        others_share = before.busy_share(CpuTimes.now())
        veth_bps, why = _veth(ledger, max(seconds - _ALONE_S - _SET_UP_S, 0.5))
        time.sleep(max(end_s - time.monotonic(), 0.0))
        steal_share = before.steal_share(CpuTimes.now())
        slept = witness.figures(sleeper.stop())
    if slept is None:
        raise LfpError(f"{witness.TOOL}: did not wake up once in {readable.number(seconds)} s")
    late = slept["p50_ns"], slept["p99_ns"], slept["max_ns"]
    return Fitness(seconds, *late, steal_share, veth_bps, why, others_share)


def _veth(ledger: Ledger, seconds: float) -> tuple[float | None, str]:
    """The rate of one TCP stream over a veth pair, bit/s; or None and the reason."""
    if os.geteuid() != 0:
        return _veth_inside(seconds)
    from scenarios.network import host_pair
    from scenarios.run import rttcp_session  # not on top: they import all that networks need

    try:
        with host_pair.hosts(ledger) as pair, host_pair.veth(pair, host_pair.MTU):
            return rttcp_session.session(pair, ledger, seconds).summary.short_term_bps, ""
    except (LfpError, OSError, subprocess.SubprocessError) as error:
        return None, f"{error}"


def _veth_inside(seconds: float) -> tuple[float | None, str]:
    """The rate of one TCP stream over a veth pair for an ordinary user, in a user namespace where the machine allows
    one. This module is the program that runs there."""
    if why := unprivileged.obstacle():
        return None, f"as an ordinary user: {why.what}"
    argv = unprivileged.inside([sys.executable, "-m", "scenarios.run.fitness_measure", f"{seconds}"])
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + _PATIENCE_S)
    if done.returncode:
        return None, (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    bps, why_not = json.loads(done.stdout)
    return bps, why_not


if __name__ == "__main__":
    with runner.owned() as (own, _):
        print(json.dumps(_veth(own, float(sys.argv[1]))))
