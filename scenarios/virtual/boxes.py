"""Which delay box a trial in virtual time has, and with what settings.

netem by default: it costs no wake-ups. The userspace box where netem cannot do what the path asks for, or when asked.
There spinning is off, for it would stop virtual time; under load it looks at its ports at intervals of the granularity.
"""

from __future__ import annotations

from dataclasses import replace

from comet_delay.netem import DEFAULTS
from comet_delay.netem_plan import plan
from netcommon.errors import UsageError
from scenarios import analysis, delay_box
from scenarios.delay_box import BackEnd
from scenarios.plan import Trial
from scenarios.virtual import memory

CHOICES = ("auto", "netem", "comet")
# To wake up costs the userspace box more than to be late by a four-hundredth of the round trip matters.
_GRANULARITY_NS, _GRANULARITY_OF_RTT = 50_000, {"netem": 1000, "comet": 400}
_WRITE_BYTES = 2**20


def objection(trial: Trial) -> str | None:
    """Why netem will not do, or None."""
    path = trial.setting.path
    if analysis.BOX in trial.setting.capture.points:
        return "netem keeps no record for the capture point 'box'"
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


def note(trial: Trial, box: str) -> str:
    """What the granularity does to packets of a settled trial, for the manifest."""
    granularity_us = (trial.setting.path.granularity or 0) / 1e3
    if choose(trial, box) == "comet":
        poll_us = (trial.setting.path.poll or 0) / 1e3
        return (
            f"userspace box: packets due within {granularity_us:g} us leave together, late by as much at most; under "
            f"load it looks at its ports every {poll_us:g} us"
        )
    if not (granularity_us and any(super_packets(trial))):
        return "netem: super-packets are taken apart before it"
    return (
        f"netem: super-packets shorter than what the line sends in {granularity_us:g} us pass whole, so packets are "
        "late by as much at most; loss and full queues hit single packets all the same"
    )


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
    back_end = choose(trial, box)
    granularity = path.granularity
    if granularity is None:
        granularity = max(_GRANULARITY_NS, path.rtt_ns() // _GRANULARITY_OF_RTT[back_end])
    own: dict[str, int | None] = {"granularity": granularity}
    if back_end == "comet":
        own |= {
            "spin": 0,
            "poll": granularity if path.poll is None else path.poll,
            "memory": memory.box_bytes(trial.setting) if path.memory is None else path.memory,
        }
    transfer = trial.setting.transfer.model_copy(update=_bulk(trial))
    setting = trial.setting.model_copy(update={"path": path.model_copy(update=own), "transfer": transfer})
    return replace(trial, setting=setting)
