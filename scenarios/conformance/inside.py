"""One case in its guest: the network, the path, the gateways, the case and its result."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from pathlib import Path
from typing import Any

from netcommon import netns
from netcommon.errors import LfpError
from netcommon.ledger import Ledger
from scenarios.conformance import lab as surroundings
from scenarios.conformance.cases import BY_NAME, Case
from scenarios.conformance.lab import Lab
from scenarios.conformance.streams import Failure, Late, NotApplicable, span, within
from scenarios.network.topology import Topology
from scenarios.plan import profiles
from scenarios.plan.plan import Trial
from scenarios.trial import gateways
from scenarios.trial.delay_box import BackEnd
from scenarios.trial.gateways import Pair
from scenarios.trial.trial import path_up
from scenarios.virtual import lab as virtual_lab

LONGEST_S = 1800.0  # a case that is not over by then hangs
_DESCRIPTORS = 20_000
_LOG = re.compile(r"; see \S+")  # names a log that is gone with the guest, so the words are left out
PASSES, FAILS, NOT_APPLICABLE = "passes", "fails", "not applicable"


def run(trial: Trial, box: BackEnd, super_bytes: tuple[int, int], case: str, share: str) -> dict[str, Any]:
    """The result of a case: ``result``, ``says`` in one line, ``taken_ns``. ``share``: a folder that the host reads."""
    began_ns = time.monotonic_ns()
    scratch = Path(share) / "gateways"
    scratch.mkdir()
    try:
        with virtual_lab.topology(trial, super_bytes) as (net, ledger):
            result, says = PASSES, _case(net, trial, box, BY_NAME[case], scratch, ledger)
    except NotApplicable as why:
        result, says = NOT_APPLICABLE, str(why)
    except (Failure, LfpError) as why:
        result, says = FAILS, _LOG.sub("", str(why))
    return {"result": result, "says": says, "taken_ns": time.monotonic_ns() - began_ns}


def _case(net: Topology, trial: Trial, box: BackEnd, case: Case, scratch: Path, ledger: Ledger) -> str:
    setting = trial.setting
    profile = profiles.of(setting.profile)
    net.apply(profile, profile.window_bytes)
    with path_up(net, trial, scratch, scratch, ledger, box) as boxes, contextlib.ExitStack() as stack:
        if case.mtu:
            net.set_line_mtu(case.mtu)
        pair = _started(net, trial, scratch, ledger, stack)
        lab = Lab(net, setting, boxes, pair, scratch, ledger)
        stack.callback(lab.close)
        try:
            says = netns.call_in(net.sender, _finished, lab, case)
        except Failure as why:
            raise Failure(_with_end(str(why), pair)) from None
        if ended := pair and pair.why_ended():
            raise Failure(ended)
        return says


def _started(net: Topology, trial: Trial, scratch: Path, ledger: Ledger, stack: contextlib.ExitStack) -> Pair | None:
    """The gateways of the first pair of hosts, once they carry connections."""
    found = gateways.sites(trial.setting)
    if not found:
        return None
    pair = gateways.started(net, found[0], scratch, scratch, ledger, stack)
    gateways.wait_ready(pair, net)
    return pair


def _with_end(why: str, pair: Pair | None) -> str:
    """The observation, with an addition where a gateway has exited by itself."""
    ended = pair and pair.why_ended()
    return f"{why}; {ended}" if ended else why


def _finished(lab: Lab, case: Case) -> str:
    """Runs the case to its end, on a thread in the client's namespace."""

    async def bounded() -> str:
        try:
            async with within(LONGEST_S):
                return await case.act(lab)
        except Late:
            raise Failure(f"not over after {span(LONGEST_S)}") from None
        except OSError as error:
            raise Failure(f"a connection broke: {error.strerror or error}") from None

    with surroundings.descriptors(_DESCRIPTORS):
        return asyncio.run(bounded())
