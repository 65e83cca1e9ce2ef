"""What the netem back end needs from the kernel besides disciplines: veth pairs, redirection, counters, offloads.

Every function acts in the namespace of the calling thread, or of its netlink socket argument. NetlinkError is passed on
to the caller.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute, NetlinkError
from pyroute2.ethtool.ioctl import IoctlEthtool

from comet_delay.command import Port
from comet_delay.namespace import Namespace
from comet_delay.netem_messages import PRNG_SEED, kept_attributes, netem_options, put_qdisc, tbf_options
from netcommon.errors import LfpError

ROOT = 0xFFFFFFFF  # as parent
FIRST, CHILD = 0x10000, 0x10001  # handle of an interface's outermost discipline; parent of the discipline nested in it

_LEAST_GSO_MAX = 512  # the kernel reserves room for TCP's headers


def no_ipv6() -> None:
    """Switches IPv6 off, so that the inner interfaces send nothing of their own (router solicitations, multicast
    reports)."""
    for scope in ("all", "default"):
        with suppress(FileNotFoundError):
            Path(f"/proc/sys/net/ipv6/conf/{scope}/disable_ipv6").write_text("1")


def bring_up(ipr: IPRoute, name: str) -> int:
    """Brings an interface up and returns its index."""
    index = int(ipr.link_lookup(ifname=name)[0])
    ipr.link("set", index=index, state="up")
    return index


def make_veth(ipr: IPRoute, name: str, peer: str, mtu: int, peer_netns_fd: int | None = None) -> None:
    """Makes a veth pair; `peer` is in the namespace of that descriptor if there is one."""
    place = {} if peer_netns_fd is None else {"net_ns_fd": peer_netns_fd}
    ipr.link("add", ifname=name, kind="veth", mtu=mtu, peer={"ifname": peer, "mtu": mtu} | place)


def attach(middle: Namespace, inner: str, port: Port, mtu: int) -> None:
    """Makes a veth pair: the end `own` is in the box's namespace, and the other end is the port, up, in its host's
    namespace. LfpError if the port's name is already in use there."""
    with Namespace.of(port.netns) as host:
        fd = os.open(host.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            middle.netlink(make_veth, inner, port.name, mtu, fd)
            host.netlink(bring_up, port.name)
        except NetlinkError as error:
            why = f"cannot make interface '{port.name}' in namespace {port.netns}: {error.args[-1]}"
            raise LfpError(f"{why}; choose a name that is free there") from error
        finally:
            os.close(fd)


def delete(ipr: IPRoute, indices: Sequence[int]) -> None:
    """Deletes interfaces. The peer of a veth is deleted with it."""
    for index in indices:
        ipr.link("del", index=index)


def redirect(ipr: IPRoute, source: int, target: int) -> None:
    """Sends whatever arrives at one interface (index) out at another."""
    ipr.tc("add", "ingress", source)
    action = {"kind": "mirred", "direction": "egress", "action": "redirect", "ifindex": target}
    ipr.tc("add-filter", "matchall", source, parent=0xFFFF0000, prio=1, action=action)


def counters(ipr: IPRoute) -> tuple[dict[str, Any], dict[tuple[int, int], int]]:
    """Link counters by interface name, and drops by (interface index, handle of a discipline)."""
    links = {link.get_attr("IFLA_IFNAME"): link.get_attr("IFLA_STATS64") for link in ipr.get_links()}
    drops = {(qdisc["index"], qdisc["handle"]): qdisc.get_attr("TCA_STATS")["drop"] for qdisc in ipr.get_qdiscs()}
    return links, drops


def takes_apart_by_fate() -> bool:
    """Whether netem and tbf of this kernel split a super-packet when the fates of its packets differ. The virtual-time
    kernel does, by its patch super-packets."""
    return Path("/sys/module/sch_netem/parameters/by_packet").exists()


def limit_super_packets(ipr: IPRoute, index: int, super_bytes: int, super_packets: int) -> None:
    """Makes super-packets of at least this length, or of more than this number of packets, leave that interface as wire
    packets. 0 and 1: all super-packets."""
    ipr.link("set", index=index, gso_max_size=max(super_bytes, _LEAST_GSO_MAX), gso_max_segs=super_packets)


def segmentation_off(name: str) -> None:
    """Turns every segmentation offload of an interface off, so that only wire packets leave it."""
    ethtool = IoctlEthtool(name)
    try:
        features = ethtool.get_features()
        words = ("segmentation", "scatter-gather", "rx-gro")
        for feature in list(features.keys()):
            if features.is_available(feature) and any(word in feature for word in words):
                features[feature] = False
        ethtool.set_features(features)
    finally:
        ethtool.close()


def segments(name: str) -> bool:
    """Whether any segmentation offload of an interface is on."""
    ethtool = IoctlEthtool(name)
    try:
        return any(on for feature, on, *_ in ethtool.get_features() if "segmentation" in feature)
    finally:
        ethtool.close()


def probe() -> tuple[str | None, bool]:
    """Tries everything that the back end needs, in a new namespace. Returns why it cannot work here, or None, and
    whether netem uses a seed."""
    try:
        with Namespace() as namespace:
            return namespace.netlink(_try_all)
    except LfpError as error:
        return str(error), False


def _try_all(ipr: IPRoute) -> tuple[str | None, bool]:
    step = "veth"
    try:
        make_veth(ipr, "probe0", "probe1", 1500)
        index, other = bring_up(ipr, "probe0"), bring_up(ipr, "probe1")
        step = "sch_netem"
        options = netem_options(limit_packets=1000, seed=1)
        put_qdisc(ipr, "netem", index=index, parent=ROOT, handle=FIRST, options=options)
        heeds_seed = any(
            PRNG_SEED in kept_attributes(q) for q in ipr.get_qdiscs(index=index) if q.get_attr("TCA_KIND") == "netem"
        )
        step = "sch_tbf"
        bucket = tbf_options(rate_bps=10**6, burst_bytes=3000, limit_bytes=3000)
        put_qdisc(ipr, "tbf", index=index, parent=CHILD, handle=2 * FIRST, options=bucket)
        step = "sch_ingress, cls_matchall or act_mirred"
        redirect(ipr, index, other)
    except NetlinkError as error:
        return f"this kernel has no {step} ({error.args[-1]})", False
    return None, heeds_seed
