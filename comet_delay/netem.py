"""The delay box as tc disciplines of the kernel: the netem back end.

    host a ─veth─ a ▸ s1═s2 ▸ s3═s4 ▸ b ─veth─ host b        ▸ redirected (mirred) from ingress to egress

Everything except the hosts' own interfaces is in a namespace that has no name and ends with this process. No discipline
is on a sender's interface: there the queue would limit TCP (small-queue limit), and TCP would take a loss for local
congestion. tc-netem counts a 64 KB super-packet as one packet. So s1 and s4 have segmentation offload off: the kernel
splits super-packets into wire packets there (s1 from a to b, s4 from b to a), before any discipline sees them. Hosts
keep their offloads.

The disciplines of netem_plan.py are on these interfaces. At the bottleneck they are nested. Disciplines that the
parameters do not need are left out.

    direction   bottleneck   delay
    a → b       s3           b
    b → a       s2           a

Rejected: a bridge, which drops link-local frames and learns addresses; offloads off at the hosts, which is the hosts'
choice; one netem for a direction, whose limit counts queue and line together.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Literal

from pyroute2 import IPRoute, NetlinkError

from comet_delay.command import Port
from comet_delay.namespace import Namespace
from comet_delay.netem_kernel import (
    FIRST,
    ROOT,
    attach,
    bring_up,
    counters,
    delete,
    limit_super_packets,
    make_veth,
    no_ipv6,
    redirect,
    segmentation_off,
    segments,
    takes_apart_by_fate,
)
from comet_delay.netem_messages import netem_options, put_qdisc, size_table, tbf_options
from comet_delay.netem_plan import DEFAULTS, NOTES, Bucket, Framing, Netem, Parameters, Plan, plan
from netcommon.errors import LfpError, UsageError

_GRANULAR_NOTE = (
    "super-packets shorter than what the line sends in {granularity_ns} ns pass whole, so packets may be late "
    "by as much, never early; where loss or a full queue hits one of their packets they are taken "
    "apart, and it alone is dropped"
)
_INNER = (("s1", "s2"), ("s3", "s4"))
_SPLITTERS: dict[Which, str] = {"ab": "s1", "ba": "s4"}
_REDIRECTS = (("a", "s1"), ("s1", "a"), ("s2", "s3"), ("s3", "s2"), ("s4", "b"), ("b", "s4"))

Which = Literal["ab", "ba"]
Values = dict[str, int | str]


@dataclass(frozen=True)
class _Places:
    """The interfaces of one direction. `receivers`: the three on which packets arrive, as frames on the first one and
    as wire packets on the others. `bottleneck`, `delay`: where the disciplines are."""

    receivers: tuple[str, str, str]
    bottleneck: str
    delay: str
    number: int


_PLACES: dict[Which, _Places] = {
    "ab": _Places(("a", "s2", "s4"), "s3", "b", 0),
    "ba": _Places(("b", "s3", "s1"), "s2", "a", 1),
}


class NetemBox:
    """The disciplines between two ports. They exist from `start` (or ``with``) to `stop`.

    `stop`, or the end of the process, removes the interfaces of both hosts. `ab` and `ba` take the parameters of
    DEFAULTS, which are named as in the box's `show`. Kernels before 6.6 ignore `seed`. `granularity_ns` is how late
    packets may be. When it is not 0, short super-packets are not split, if the kernel supports that
    (`takes_apart_by_fate`). On other kernels it counts as 0.
    Raises LfpError (a name is taken, a discipline is missing), MissingError or UsageError.
    """

    backend = "netem"

    def __init__(
        self,
        a: Port,
        b: Port,
        *,
        ab: Parameters | None = None,
        ba: Parameters | None = None,
        mtu: int = 1500,
        seed: int = 1,
        granularity_ns: int = 0,
    ) -> None:
        self._ports, self._mtu, self._seed = (a, b), mtu, seed
        self._by_packet = takes_apart_by_fate()
        self._granularity_ns = granularity_ns if self._by_packet else 0
        self._parameters: dict[Which, Values] = {"ab": dict(DEFAULTS), "ba": dict(DEFAULTS)}
        self._plans: dict[Which, Plan] = {}
        self._earlier: dict[Which, dict[str, int]] = {which: {"loss": 0, "queue": 0} for which in _PLACES}
        self._index: dict[str, int] = {}
        self._end: dict[str, Any] = {}
        self._first_plans = self._planned(ab or {}, ba or {})
        self._middle: Namespace

    def start(self) -> NetemBox:
        """Makes the disciplines. Afterwards both ports exist and are up."""
        self._middle = Namespace()
        try:
            self._middle.run(no_ipv6)
            for port, own in zip(self._ports, ("a", "b"), strict=True):
                attach(self._middle, own, port, self._mtu)
            self._netlink(self._wire)
            if not self._granularity_ns:
                for name in _SPLITTERS.values():
                    self._middle.run(segmentation_off, name)
            self._apply(self._first_plans)
        except BaseException:
            self._middle.close()
            raise
        return self

    def __enter__(self) -> NetemBox:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def running(self) -> bool:
        """True: there is no process that could end."""
        return True

    def finish(self, timeout_s: float) -> dict[str, Any]:
        """The same as `stop`: disciplines do not end by themselves."""
        return self.stop()

    def set(self, *, ab: Parameters | None = None, ba: Parameters | None = None) -> None:
        """Changes parameters of one direction or both. UsageError when one of them is wrong; then none has changed."""
        self._apply(self._planned(ab, ba))

    def show(self) -> dict[str, Any]:
        """The state as in the box's `show`, without lateness, but with ``notes`` and the ``offloads`` of the inner
        interfaces."""
        links, drops = self._netlink(counters)
        statistics = {which: self._statistics(which, links, drops) for which in _PLACES}
        offloads = {name: {"segmentation": self._middle.run(segments, name)} for name in _SPLITTERS.values()}
        reasons = [
            f"{which}: {count} packets dropped by the kernel ({cause}), not by the model"
            for which, counted in statistics.items()
            for cause, count in counted["drops"].items()
            if cause in ("memory", "kernel") and count
        ]
        if not self._granularity_ns:
            reasons += [f"segmentation offload is on at {name}" for name, on in offloads.items() if any(on.values())]
        return {
            "v": 1,
            "backend": self.backend,
            "granularity_ns": self._granularity_ns,
            "super_bytes": {which: found.super_bytes for which, found in self._plans.items()},
            "parameters": {which: dict(values) for which, values in self._parameters.items()},
            "statistics": statistics,
            "offloads": offloads,
            "notes": self._notes(),
            "verdict": {"valid": not reasons, "reasons": reasons},
        }

    def stop(self, timeout_s: float = 0) -> dict[str, Any]:
        """Removes everything. Returns the last `show`, and the same again when called again."""
        if self._end:
            return self._end
        try:
            self._end = self.show() | {"event": "end"}
            return self._end
        finally:
            with suppress(NetlinkError):  # already gone with a host's namespace, or removed by somebody in it
                self._middle.netlink(delete, [self._index["a"], self._index["b"]])
            self._middle.close()

    def _planned(self, ab: Parameters | None, ba: Parameters | None) -> dict[Which, tuple[Values, Plan]]:
        planned: dict[Which, tuple[Values, Plan]] = {}
        given: dict[Which, Parameters | None] = {"ab": ab, "ba": ba}
        for which, parameters in given.items():
            if parameters is None:
                continue
            if unknown := parameters.keys() - DEFAULTS.keys():
                raise UsageError(f"netem cannot do {', '.join(sorted(unknown))}; it does {', '.join(DEFAULTS)}")
            values = self._parameters[which] | dict(parameters)
            planned[which] = values, plan(values, self._mtu, self._granularity_ns)
        return planned

    def _notes(self) -> list[str]:
        if not self._granularity_ns:
            return list(NOTES)
        return [_GRANULAR_NOTE.format(granularity_ns=self._granularity_ns), *NOTES[1:]]

    def _netlink(self, function: Any, *args: Any) -> Any:
        try:
            return self._middle.netlink(function, *args)
        except NetlinkError as error:
            raise LfpError(f"netem: the kernel refuses: {error.args[-1]}; see capabilities('netem')") from error

    def _wire(self, ipr: IPRoute) -> None:
        for left, right in _INNER:
            make_veth(ipr, left, right, self._mtu)
        for name in ("a", "b", *(name for pair in _INNER for name in pair)):
            self._index[name] = bring_up(ipr, name)
        for source, target in _REDIRECTS:
            redirect(ipr, self._index[source], self._index[target])

    def _apply(self, planned: Mapping[Which, tuple[Values, Plan]]) -> None:
        for which, (values, disciplines) in planned.items():
            self._netlink(self._put, which, disciplines)
            self._parameters[which] = values

    def _put(self, ipr: IPRoute, which: Which, wanted: Plan) -> None:
        """Makes the disciplines of a direction, or changes those that differ from the new plan."""
        places, now = _PLACES[which], self._plans.get(which)
        if now and now.bottleneck().keys() != wanted.bottleneck().keys():
            self._earlier[which] = self._model_drops(which, counters(ipr)[1])
            if now.bottleneck():
                ipr.tc("del", index=self._index[places.bottleneck], parent=ROOT, handle=FIRST)
            now = None
        if now and now.framing != wanted.framing:
            now = None
        old = list(now.bottleneck().values()) if now else []
        for level, discipline in enumerate(wanted.bottleneck().values()):
            if not old or discipline != old[level]:
                self._put_one(ipr, which, places.bottleneck, discipline, wanted.framing, level)
        if not now or wanted.line != now.line:
            self._put_one(ipr, which, places.delay, wanted.line, wanted.framing)
        if self._granularity_ns and (not now or wanted.super_bytes != now.super_bytes):
            limit_super_packets(ipr, self._index[_SPLITTERS[which]], wanted.super_bytes, wanted.super_packets)
        self._plans[which] = wanted

    def _put_one(
        self, ipr: IPRoute, which: Which, name: str, wanted: Netem | Bucket, framing: Framing, level: int = 0
    ) -> None:
        """Makes or changes a discipline that is nested in `level` others, of which the outermost has the size table.
        Every change contains the seed; otherwise netem draws a new one."""
        seed = 2 * self._seed + _PLACES[which].number
        if isinstance(wanted, Netem):
            options = netem_options(**asdict(wanted), seed=seed)
        else:
            options = tbf_options(**asdict(wanted))
        put_qdisc(
            ipr,
            "netem" if isinstance(wanted, Netem) else "tbf",
            index=self._index[name],
            options=options,
            parent=level * FIRST + 1 if level else ROOT,
            handle=(level + 1) * FIRST,
            table=None if level else size_table(framing.overhead_bytes, framing.shortest_bytes),
        )

    def _model_drops(self, which: Which, drops: Mapping[tuple[int, int], int]) -> dict[str, int]:
        """What the model dropped, by cause. A discipline's count includes the drops of disciplines nested in it, except
        on the virtual-time kernel."""
        names, index = list(self._plans[which].bottleneck()), self._index[_PLACES[which].bottleneck]
        counted = [drops[index, (level + 1) * FIRST] for level in range(len(names))]
        total = dict(self._earlier[which])
        in_it = [0] * len(names) if self._by_packet else [*counted, 0][1:]
        for name, outer, inner in zip(names, counted, in_it, strict=True):
            if name != "access" or not self._by_packet:
                total["queue" if name == "bucket" else "loss"] += outer - inner
        return total

    def _statistics(
        self, which: Which, links: Mapping[str, Any], drops: Mapping[tuple[int, int], int]
    ) -> dict[str, Any]:
        places = _PLACES[which]
        frames_in, packets_in, _ = (links[name] for name in places.receivers)
        return {
            "in_frames": frames_in["rx_packets"],
            "in_packets": packets_in["rx_packets"],
            "in_bytes": packets_in["rx_bytes"],
            "out_packets": links[places.delay]["tx_packets"],
            "out_bytes": links[places.delay]["tx_bytes"],
            "drops": self._model_drops(which, drops)
            | {
                "memory": drops[self._index[places.delay], FIRST],
                "kernel": sum(links[name]["rx_dropped"] for name in places.receivers),
            },
        }
