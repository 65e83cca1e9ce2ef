"""The delay box as tc disciplines of the kernel: the netem back end.

    host a ─veth─ a ▸ s1═s2 ▸ s3═s4 ▸ b ─veth─ host b        ▸ redirected (mirred) from ingress to egress

Everything but the hosts' own interfaces is in a namespace of its own that has no name and ends with this process. No
discipline is on a sender: there TCP sees the queue and holds back (small-queue limit), and loss counts as local
congestion. tc-netem takes a 64 KB super-packet for one packet; so s1 and s4 have segmentation off, and what goes out
there (s1 from a to b, s4 back) is taken apart into wire packets before any discipline sees it. Hosts keep their
offloads. The disciplines (netem_plan.py) are a → b: bottleneck on s3, delay on b; b → a: bottleneck on s2, delay on a.

Rejected: a bridge, which eats link-local frames and learns; offloads off at the hosts, which is theirs to choose;
one netem a direction, whose limit mixes queue and line.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pyroute2 import IPRoute, NetlinkError

from comet_delay.command import Port
from comet_delay.namespace import Namespace
from comet_delay.netem_kernel import (
    BUCKET,
    CHILD,
    NETEM,
    ROOT,
    bring_up,
    counters,
    delete,
    make_veth,
    no_ipv6,
    redirect,
    segmentation_off,
    segments,
)
from comet_delay.netem_messages import netem_options, put_qdisc, tbf_options
from comet_delay.netem_plan import UNLIMITED, Parameters, Plan, plan
from netcommon.errors import LfpError, UsageError

DEFAULTS: dict[str, int | str] = {"delay_ns": 0, "rate_bps": 0, "queue_bytes": 0, "loss_ppb": 0, "framing": "l2"}
NOTES = (
    "super-packets are taken apart before netem (segmentation offload is off on the inner interfaces), so that it "
    "counts wire packets; the hosts keep their offloads",
    "a shorter delay set under load lets later packets overtake earlier ones",
    "turning the rate on or off under load drops what waits in the queue",
    "lateness is the kernel's and is not measured",
)
_INNER = (("s1", "s2"), ("s3", "s4"))
_SPLITTERS = ("s1", "s4")
_REDIRECTS = (("a", "s1"), ("s1", "a"), ("s2", "s3"), ("s3", "s2"), ("s4", "b"), ("b", "s4"))

Which = Literal["ab", "ba"]
Values = dict[str, int | str]


@dataclass(frozen=True)
class _Places:
    """Interfaces of one direction: the three that receive, first frames, then wire packets; its two disciplines."""

    receivers: tuple[str, str, str]
    bottleneck: str
    delay: str
    number: int


_PLACES: dict[Which, _Places] = {
    "ab": _Places(("a", "s2", "s4"), "s3", "b", 0),
    "ba": _Places(("b", "s3", "s1"), "s2", "a", 1),
}


class NetemBox:
    """A running box; `stop` (or the end of the process) takes both hosts' interfaces away.

    `ab` and `ba` are named as in the box's `show`: those of DEFAULTS. Kernels before 6.6 ignore `seed`.
    Raises LfpError (a name taken, a discipline missing), MissingError, UsageError.
    """

    backend = "netem"

    def __init__(
        self, a: Port, b: Port, *, ab: Parameters | None = None, ba: Parameters | None = None,
        mtu: int = 1500, seed: int = 1,
    ) -> None:  # fmt: skip
        self._mtu, self._seed = mtu, seed
        self._parameters: dict[Which, Values] = {"ab": dict(DEFAULTS), "ba": dict(DEFAULTS)}
        self._earlier_queue_drops: dict[Which, int] = {"ab": 0, "ba": 0}
        self._index: dict[str, int] = {}
        self._end: dict[str, Any] = {}
        planned = self._planned(ab or {}, ba or {})
        self._middle = Namespace()
        try:
            self._middle.run(no_ipv6)
            self._attach(a, "a")
            self._attach(b, "b")
            self._netlink(self._wire)
            for name in _SPLITTERS:
                self._middle.run(segmentation_off, name)
            self._apply(planned)
        except BaseException:
            self._middle.close()
            raise

    def set(self, *, ab: Parameters | None = None, ba: Parameters | None = None) -> None:
        """Changes some parameters of one direction or both; UsageError, with nothing changed, when one is wrong."""
        self._apply(self._planned(ab, ba))

    def show(self) -> dict[str, Any]:
        """As the box's `show`, without lateness, and with ``offloads`` of the inner interfaces and ``notes``."""
        links, drops = self._netlink(counters)
        statistics = {which: self._statistics(which, links, drops) for which in _PLACES}
        offloads = {name: {"segmentation": self._middle.run(segments, name)} for name in _SPLITTERS}
        reasons = [
            f"{which}: {count} packets dropped by the kernel ({cause}), not by the model"
            for which, counted in statistics.items()
            for cause, count in counted["drops"].items()
            if cause in ("memory", "kernel") and count
        ]
        reasons += [f"segmentation offload is on at {name}" for name, on in offloads.items() if any(on.values())]
        return {
            "v": 1,
            "backend": self.backend,
            "parameters": {which: dict(values) for which, values in self._parameters.items()},
            "statistics": statistics,
            "offloads": offloads,
            "notes": list(NOTES),
            "verdict": {"valid": not reasons, "reasons": reasons},
        }

    def stop(self) -> dict[str, Any]:
        """Removes everything; the last `show`, again when called again."""
        if self._end:
            return self._end
        try:
            self._end = self.show() | {"event": "end"}
            return self._end
        finally:
            with suppress(NetlinkError):  # a host's namespace, or somebody in it, was quicker
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
            planned[which] = values, plan(values, self._mtu)
        return planned

    def _netlink(self, function: Any, *args: Any) -> Any:
        try:
            return self._middle.netlink(function, *args)
        except NetlinkError as error:
            raise LfpError(f"netem: the kernel refuses: {error.args[-1]}; see capabilities('netem')") from error

    def _attach(self, port: Port, own: str) -> None:
        """A veth pair: `own` end here, the other as the port, up, where the port says."""
        with Namespace.of(port.netns) as host:
            host_fd = os.open(host.path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                self._middle.netlink(make_veth, own, port.name, self._mtu, host_fd)
                host.netlink(bring_up, port.name)
            except NetlinkError as error:
                why = f"cannot make interface '{port.name}' in namespace {port.netns}: {error.args[-1]}"
                raise LfpError(f"{why}; choose a name that is free there") from error
            finally:
                os.close(host_fd)

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
        """Makes or changes a direction's disciplines. The seed goes with every change, else netem takes a new one."""
        places = _PLACES[which]
        index, seed, overhead = self._index[places.bottleneck], 2 * self._seed + places.number, wanted.overhead_bytes
        loss = netem_options(limit_packets=UNLIMITED, loss_ppb=wanted.loss_ppb, seed=seed)
        put_qdisc(ipr, "netem", index=index, parent=ROOT, handle=NETEM, options=loss, overhead_bytes=overhead)
        if wanted.bucket:
            bucket = tbf_options(**asdict(wanted.bucket))
            put_qdisc(ipr, "tbf", index=index, parent=CHILD, handle=BUCKET, options=bucket)
        elif self._parameters[which]["rate_bps"]:
            self._earlier_queue_drops[which] += counters(ipr)[1][index, "tbf"]
            ipr.tc("del", index=index, parent=CHILD, handle=BUCKET)
        delay = netem_options(
            limit_packets=wanted.delay_limit_packets, delay_ns=wanted.delay_ns, rate_bps=wanted.rate_bps,
            overhead_bytes=overhead, seed=seed,
        )  # fmt: skip
        put_qdisc(ipr, "netem", index=self._index[places.delay], parent=ROOT, handle=NETEM, options=delay)

    def _statistics(
        self, which: Which, links: Mapping[str, Any], drops: Mapping[tuple[int, str], int]
    ) -> dict[str, Any]:  # fmt: skip
        places = _PLACES[which]
        frames_in, packets_in, _ = (links[name] for name in places.receivers)
        bottleneck, delay = self._index[places.bottleneck], self._index[places.delay]
        queue = drops.get((bottleneck, "tbf"), 0) + self._earlier_queue_drops[which]
        return {
            "in_frames": frames_in["rx_packets"],
            "in_packets": packets_in["rx_packets"],
            "in_bytes": packets_in["rx_bytes"],
            "out_packets": links[places.delay]["tx_packets"],
            "out_bytes": links[places.delay]["tx_bytes"],
            "drops": {
                "loss": drops[bottleneck, "netem"] - queue,  # netem counts its child's drops as its own, too
                "queue": queue,
                "memory": drops[delay, "netem"],
                "kernel": sum(links[name]["rx_dropped"] for name in places.receivers),
            },
        }
