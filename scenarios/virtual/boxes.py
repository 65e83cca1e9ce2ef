"""Which delay box a trial in virtual time has, and with what settings.

netem by default: it costs no wake-ups. The userspace box where netem cannot do what the path asks for, or when asked.
There spinning is off, for it would stop virtual time, and it wakes at every arrival instead of looking at intervals.
"""

from __future__ import annotations

from dataclasses import replace

from comet_delay.netem import DEFAULTS
from comet_delay.netem_plan import plan
from netcommon.errors import UsageError
from scenarios import delay_box
from scenarios.delay_box import BackEnd
from scenarios.plan import Trial
from scenarios.virtual import memory

CHOICES = ("auto", "netem", "comet")
_GRANULARITY_NS, _GRANULARITY_OF_RTT = 50_000, 1000
_WRITE_BYTES = 2**20


def objection(trial: Trial) -> str | None:
    """Why netem will not do, or None."""
    path = trial.setting.path
    for which in delay_box.WAYS:
        wanted = delay_box.parameters(path.direction(which), path.framing)
        if others := sorted(wanted.keys() - DEFAULTS.keys()):
            return f"netem cannot do {', '.join(others)}"
        try:
            plan(wanted, path.mtu)
        except UsageError as error:
            return str(error)
    return None


def choose(trial: Trial, box: str) -> BackEnd:
    """The back end for ``--box``; UsageError when netem is asked for and cannot."""
    if box == "comet":
        return "comet"
    why = objection(trial)
    if why and box == "netem":
        raise UsageError(f"--box netem: {why}; use --box comet")
    return "comet" if why else "netem"


def super_packets(trial: Trial) -> tuple[int, int]:
    """How long super-packets of the sender and of the receiver may be to pass netem whole, in bytes; 0: no limit here,
    for they are taken apart before it or there is another box. Of a settled trial."""
    path = trial.setting.path
    if objection(trial):
        return 0, 0
    planned = (
        plan(delay_box.parameters(path.direction(which), path.framing), path.mtu, path.granularity or 0)
        for which in delay_box.WAYS
    )
    ab, ba = (found.super_bytes for found in planned)
    return ab, ba


def _bulk(trial: Trial) -> dict[str, bool | int]:
    """What spares system calls and copies without changing what TCP sends, where the scenario does not say: content is
    not copied, and a stream that no window holds back is written in long pieces."""
    transfer, own = trial.setting.transfer, dict[str, bool | int]()
    if transfer.tool == "rttcp" and transfer.zerocopy is None:
        own["zerocopy"] = True
    if not transfer.window and "length" not in transfer.model_fields_set:
        own["length"] = _WRITE_BYTES
    return own


def settled(trial: Trial, box: str) -> Trial:
    """The trial with the settings for virtual time, where it has none of its own: granularity for both boxes."""
    path = trial.setting.path
    granularity = max(_GRANULARITY_NS, path.rtt_ns() // _GRANULARITY_OF_RTT)
    own: dict[str, int | None] = {"granularity": granularity if path.granularity is None else path.granularity}
    if choose(trial, box) == "comet":
        own |= {
            "spin": 0,
            "poll": 0 if path.poll is None else path.poll,
            "memory": memory.box_bytes(trial.setting) if path.memory is None else path.memory,
        }
    transfer = trial.setting.transfer.model_copy(update=_bulk(trial))
    setting = trial.setting.model_copy(update={"path": path.model_copy(update=own), "transfer": transfer})
    return replace(trial, setting=setting)
