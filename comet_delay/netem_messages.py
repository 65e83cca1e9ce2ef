"""Netlink messages for the queueing disciplines of the netem back end: netem, tbf and the size table.

pyroute2 supports the old netem and tbf, with 32-bit ticks. Times in nanoseconds, rates above 34 Gbit/s, the seed and
the size table came later (linux/pkt_sched.h). This file declares their attributes on top of pyroute2's classes.
"""

from __future__ import annotations

import struct
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink import NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, nla
from pyroute2.netlink.rtnl import RTM_NEWQDISC
from pyroute2.netlink.rtnl.tcmsg import sched_netem, sched_tbf, tcmsg

_UINT32_MAX = 2**32 - 1
_LINKLAYER_ETHERNET = 1  # makes the kernel compute transmission times from the rate instead of requiring a table
_TABLE = 2**14  # entries of a size table: more than the length of any frame
PRNG_SEED = 14  # TCA_NETEM_PRNG_SEED, Linux 6.6

Attributes = dict[str, Any]


class _NetemOptions(sched_netem.options):  # type: ignore[misc]
    _nlmsg_base__compiled_nla = False  # pyroute2 keeps its compiled map in the class, and a subclass would inherit it

    nla_map = (
        *sched_netem.options.nla_map,
        ("TCA_NETEM_ECN", "uint32"),
        ("TCA_NETEM_RATE64", "uint64"),
        ("TCA_NETEM_PAD", "hex"),
        ("TCA_NETEM_LATENCY64", "int64"),
        ("TCA_NETEM_JITTER64", "int64"),
        ("TCA_NETEM_SLOT", "hex"),
        ("TCA_NETEM_SLOT_DIST", "hex"),
        ("TCA_NETEM_PRNG_SEED", "uint64"),
    )


class _TbfOptions(nla):  # type: ignore[misc]
    nla_map = (
        ("TCA_TBF_UNSPEC", "none"),
        ("TCA_TBF_PARMS", "parms"),
        ("TCA_TBF_RTAB", "hex"),
        ("TCA_TBF_PTAB", "hex"),
        ("TCA_TBF_RATE64", "uint64"),
        ("TCA_TBF_PRATE64", "uint64"),
        ("TCA_TBF_BURST", "uint32"),
    )

    class parms(nla):  # type: ignore[misc]
        fields = sched_tbf.options.tbf_parms.fields


class _QdiscMessage(tcmsg):  # type: ignore[misc]
    _nlmsg_base__compiled_nla = False

    nla_map = (*tcmsg.nla_map[:-1], ("TCA_STAB", "stab"))

    @staticmethod
    def get_options(self: Any, *_: Any, **__: Any) -> Any:  # the signature that pyroute2 calls
        return _NetemOptions if self.get_attr("TCA_KIND") == "netem" else _TbfOptions

    class stab(nla):  # type: ignore[misc]
        nla_map = (("TCA_STAB_UNSPEC", "none"), ("TCA_STAB_BASE", "base"), ("TCA_STAB_DATA", "cdata"))

        class base(nla):  # type: ignore[misc]
            fields = (
                ("cell_log", "B"),
                ("size_log", "B"),
                ("cell_align", "h"),
                ("overhead", "i"),
                ("linklayer", "I"),
                ("mpu", "I"),
                ("mtu", "I"),
                ("tsize", "I"),
            )


def netem_options(
    *, limit_packets: int, delay_ns: int = 0, loss_ppb: int = 0, rate_bps: int = 0, seed: int | None = None
) -> Attributes:
    """Options of a netem. `rate_bps` 0: no rate. The kernel keeps loss in steps of 2⁻³²."""
    attributes: list[tuple[str, Any]] = [("TCA_NETEM_LATENCY64", delay_ns)]
    bytes_per_s = rate_bps // 8  # sent even if 0, because the kernel keeps an attribute that is not sent
    rate = {"rate": min(bytes_per_s, _UINT32_MAX), "packet_overhead": 0}
    attributes.append(("TCA_NETEM_RATE", rate | {"cell_size": 0, "cell_overhead": 0}))
    if bytes_per_s > _UINT32_MAX:
        attributes.append(("TCA_NETEM_RATE64", bytes_per_s))
    if seed is not None:
        attributes.append(("TCA_NETEM_PRNG_SEED", seed))
    loss = round(loss_ppb * _UINT32_MAX / 10**9)
    return {
        "delay": 0,
        "limit": min(limit_packets, _UINT32_MAX),
        "loss": loss,
        "gap": 0,
        "duplicate": 0,
        "jitter": 0,
        "attrs": attributes,
    }


def tbf_options(*, rate_bps: int, burst_bytes: int, limit_bytes: int) -> Attributes:
    """Options of a token bucket of `burst_bytes`, before which `limit_bytes` may wait."""
    bytes_per_s = rate_bps // 8
    parms = dict.fromkeys((name for name, _ in sched_tbf.options.tbf_parms.fields), 0) | {
        "rate___reserved": _LINKLAYER_ETHERNET,
        "peak___reserved": _LINKLAYER_ETHERNET,
        "rate": min(bytes_per_s, _UINT32_MAX),
        "limit": min(limit_bytes, _UINT32_MAX),
    }
    attributes: list[tuple[str, Any]] = [("TCA_TBF_PARMS", parms), ("TCA_TBF_BURST", burst_bytes)]
    if bytes_per_s > _UINT32_MAX:
        attributes.append(("TCA_TBF_RATE64", bytes_per_s))
    return {"attrs": attributes}


def size_table(overhead_bytes: int, shortest_bytes: int) -> Attributes | None:
    """A size table, which adds `overhead_bytes` to the length of each packet and counts at least `shortest_bytes`.
    None where both are 0.

    The kernel supports a minimum length (``mpu`` of tc) only by a table of n lengths. It looks up d, the packet's
    length minus the minimum. For d >= n it computes data[n - 1] * (d // n) + data[d % n]. The last entry is n, which
    makes that sum right for super-packets. In return, one length in n is counted `shortest_bytes` too short.
    """
    base = {"overhead": overhead_bytes, "linklayer": _LINKLAYER_ETHERNET}
    if not shortest_bytes:
        return None if not overhead_bytes else {"attrs": [("TCA_STAB_BASE", base)]}
    lengths = [*range(shortest_bytes, shortest_bytes + _TABLE - 1), _TABLE]
    base |= {"cell_align": -shortest_bytes, "mpu": shortest_bytes, "tsize": len(lengths)}
    return {"attrs": [("TCA_STAB_BASE", base), ("TCA_STAB_DATA", struct.pack(f"={len(lengths)}H", *lengths))]}


def put_qdisc(
    ipr: IPRoute,
    kind: str,
    *,
    index: int,
    parent: int,
    handle: int,
    options: Attributes,
    table: Attributes | None = None,
) -> None:
    """Makes a queueing discipline, or changes an existing one without dropping its packets.

    `table` is a `size_table` for this discipline and those nested in it. Raises NetlinkError.
    """
    message = _QdiscMessage()
    message["index"], message["parent"], message["handle"] = index, parent, handle
    message["attrs"] = [("TCA_KIND", kind)]
    if table:
        message["attrs"].append(("TCA_STAB", table))
    message["attrs"].append(("TCA_OPTIONS", options))
    message["header"]["type"] = RTM_NEWQDISC
    message["header"]["flags"] = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE
    list(ipr.nlm_request_batch([message]))


def kept_attributes(qdisc: Any) -> set[int]:
    """Numbers of the newer option attributes that the kernel reports for a discipline, and thus supports."""
    return {slot[1]["header"]["type"] for slot in qdisc.get_attr("TCA_OPTIONS")["attrs"] if slot[0] == "UNKNOWN"}
