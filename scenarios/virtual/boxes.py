"""Which delay box a trial in virtual time has, and with which settings.

The default is netem, which costs no wake-ups. The userspace box is used where netem cannot do what the path asks for,
or when the user asks for it. The box's code in the guest's kernel is used when the user asks for that; it costs no
wake-ups either. The userspace box does not spin, because spinning would stop virtual time. Under load it looks at its
ports at intervals of the granularity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from comet_delay.netem_plan import DEFAULTS, plan
from netcommon import readable
from netcommon.errors import UsageError
from scenarios.plan import flows, lateness, profiles
from scenarios.plan.path import Direction, PathTable
from scenarios.plan.plan import Trial
from scenarios.plan.transfer import Transfer
from scenarios.trial import analysis, delay_box
from scenarios.trial.delay_box import BackEnd
from scenarios.virtual import kernel, memory

CHOICES = ("auto", "netem", "comet", "kernel")
# A lateness of 1/400 of the round trip matters less than the wake-ups that it saves the userspace box. netem has no
# wake-ups to save, so it must keep 1/1000.
_GRANULARITY_NS, _GRANULARITY_OF_RTT = 50_000, {"netem": 1000, "comet": 400, "kernel": 400}
# The guest's table of its pages is a 64th of its memory. A packet in flight is two descriptions: the sender's, which it
# keeps until the acknowledgement comes, and the network's.
_PAGES_SHARE, _DESCRIBED_BYTES = 64, 4096


def objection(trial: Trial) -> str | None:
    """The reason why netem cannot be this trial's box, or None."""
    if analysis.BOX in trial.setting.capture.points:
        return "netem keeps no record for the capture point 'box'"
    if trial.setting.path.changes():
        return "path.change counts by the clock of the userspace box"
    if trial.setting.event:
        return "[[event]] counts by the clock of the userspace box"
    for path, direction in _directions(trial):
        wanted = delay_box.parameters(direction, path.framing)
        if others := sorted(wanted.keys() - DEFAULTS.keys()):
            return f"netem cannot do {', '.join(others)}"
        try:
            plan(wanted, path.mtu)
        except UsageError as error:
            return str(error)
    return None


def _directions(trial: Trial) -> list[tuple[PathTable, Direction]]:
    """Both directions of all delay boxes of a trial, each with its path."""
    return [(path, path.direction(which)) for path in flows.paths(trial.setting) for which in delay_box.WAYS]


def choose(trial: Trial, box: str) -> BackEnd:
    """The back end for ``--box``. UsageError when the user asks for netem and netem cannot do it."""
    if box == "comet":
        return "comet"
    if box == "kernel":
        if not kernel.has_box():
            raise UsageError(f"--box kernel: {kernel.path()} has no box; build one of Linux 7 (lfp virtual --build)")
        return "kernel"
    why = objection(trial)
    if why and box == "netem":
        raise UsageError(f"--box netem: {why}; use --box kernel or comet")
    return "comet" if why else "netem"


def decides(trial: Trial, box: str) -> str:
    """A sentence for people: which box a trial has, and why it is not netem."""
    names = {"netem": "netem", "kernel": "the box in the guest's kernel", "comet": "the userspace box"}
    found, why = choose(trial, box), objection(trial)
    reason = f": {why}" if why and box == "auto" else ""
    return f"{names[found]} decides{reason}"


def super_packets(trial: Trial) -> tuple[int, int]:
    """The longest super-packets of the sender and of the receiver that pass netem whole, in bytes. 0: no limit, because
    they are taken apart before netem, or because the trial has the other box. ``trial`` is settled."""
    if objection(trial):
        return 0, 0
    ab, ba = (min(_super_bytes(path, which) for path in flows.paths(trial.setting)) for which in delay_box.WAYS)
    return ab, ba


def _super_bytes(path: PathTable, which: Literal["ab", "ba"]) -> int:
    wanted = delay_box.parameters(path.direction(which), path.framing)
    return plan(wanted, path.mtu, path.granularity or 0).super_bytes


def used_bytes(trial: Trial, box: str) -> int:
    """An upper bound of the host's memory for a settled trial's guest. Where data are not copied, all packets share the
    sender's buffer, and data in flight take only the memory of their packets' descriptors."""
    setting = trial.setting
    whole = memory.guest_bytes(setting)
    transfers = [one.setting.transfer for one in flows.of(setting)]
    copied = choose(trial, box) != "netem" or memory.gateway_bytes(setting)
    if copied or not all(transfer.zerocopy for transfer in transfers):
        return whole
    lossless = not any(direction.values["loss"] for _, direction in _directions(trial))
    packet = max(super_packets(trial)[0] if lossless else 0, setting.path.mtu)
    described = memory.in_flight_bytes(setting) * _DESCRIBED_BYTES // packet
    buffers = sum(2 * transfer.parallel * (transfer.write_bytes or 0) for transfer in transfers)
    own = memory.BASE_BYTES + memory.captures_bytes(setting)
    return min(whole, own + whole // _PAGES_SHARE + described + buffers)


def note(trial: Trial, box: str) -> str:
    """A sentence for the manifest: what the granularity does to the packets of a settled trial."""
    granularity = readable.duration(trial.setting.path.granularity or 0)
    if choose(trial, box) == "kernel":
        return (
            f"box in the kernel: packets of one super-packet that are due within {granularity} leave together, late by "
            "that much at most"
        )
    if choose(trial, box) == "comet":
        poll = readable.duration(trial.setting.path.poll or 0)
        return (
            f"userspace box: packets due within {granularity} leave together, late by that much at most; under "
            f"load the box looks at its ports every {poll}"
        )
    if not (trial.setting.path.granularity and any(super_packets(trial))):
        return "netem: super-packets are taken apart before it"
    return (
        f"netem: super-packets that the line sends in less than {granularity} pass whole, so packets are "
        "late by that much at most; loss and full queues still hit single packets"
    )


def _bulk(transfer: Transfer, buffered: bool) -> dict[str, bool]:
    """The option with which rttcp does not copy content; empty where the scenario or the transfer rules it out. TCP
    sends the same without copies, and the copies' time is saved. ``buffered``: the send buffer may be the limit. Then
    rttcp has to copy, because data that are not copied are not in the buffer. Rejected: longer writes. How much fits
    into a send buffer depends on them, and figures would differ from real time's."""
    copied = transfer.tool != "rttcp" or transfer.request is not None or transfer.verify or buffered
    return {} if copied or transfer.zerocopy is not None else {"zerocopy": True}


def settled(trial: Trial, box: str) -> Trial:
    """The trial with virtual time's values for the settings that it leaves open."""
    path = trial.setting.path
    back_end = choose(trial, box)
    granularity = path.granularity
    if granularity is None:
        granularity = max(_GRANULARITY_NS, path.rtt_ns() // _GRANULARITY_OF_RTT[back_end])
    settings: dict[str, int | None] = {"granularity": granularity}
    if back_end != "netem":
        settings |= {
            "spin": 0,
            "poll": granularity if path.poll is None else path.poll,
            "memory": memory.box_bytes(trial.setting) if path.memory is None else path.memory,
        }
    buffered = profiles.of(trial.setting.profile).limits_send_buffer
    transfer = trial.setting.transfer.model_copy(update=_bulk(trial.setting.transfer, buffered))
    others = {name: flow.model_copy(update=_bulk(flow, buffered)) for name, flow in trial.setting.flow.items()}
    tables: dict[str, Any] = {"path": path.model_copy(update=settings), "transfer": transfer, "flow": others}
    if trial.setting.run.lateness is None:  # the box's own rule adds what granularity and poll ask for
        tables["run"] = trial.setting.run.model_copy(update={"lateness": lateness.LEAST_NS})
    setting = trial.setting.model_copy(update=tables)
    return replace(trial, setting=setting)
