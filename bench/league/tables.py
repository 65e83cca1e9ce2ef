"""The tables of the league: a row for each case, a column for each path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from netcommon import readable
from scenarios.plan.plan import Plan

Rows = Sequence[dict[str, Any]]
Path = tuple[int, int, int]  # RTT, loss, rate
NOT_VALID, FAILED, NOTHING = "*", "failed", "–"

_ABOUT = """\
A bulk transfer of {seconds} s goes through each gateway, and at the same time short transfers of {short} follow one
another through the same gateways, each over new connections. The queue of the line holds one bandwidth-delay product.
Loss hits single packets, in both directions. `cubic`, `bbr` and `reno` are TCP without a gateway. lft-gateway has a
limit of the line's rate, except in `lft-auto`, which finds its rate itself. The TCP of hosts and gateways is CUBIC.
The scenarios `gateways` and `gateways-beside` hold the settings, and [the examples](../../examples/gateways/README.md)
each product's command lines. Each figure is one trial. The column "conformance" has how many of the cases of
`lfp conformance` a product passes.
{marked}
## Goodput of the bulk transfer, Mbit/s

{goodput}

## Median time of a short transfer, ms

{short_times}
{cpu}
## In competition with plain TCP

One flow of plain TCP (CUBIC) from router to router, past the gateways, shares {beside_path} with the bulk transfer for
{beside_seconds} s. The table has plain TCP's share: 50 % is fair.

{beside}
"""
_MARKED = """
A star marks a trial that was not valid: its machine was late or short of CPU, or a gateway ended early. "failed": no
transfer ended.
"""
_CPU = """
## CPU time of both gateways, s/GB

{table}

A gigabyte is 10^9 octets of the bulk transfer and of the short ones. What the kernel does for a gateway counts.
lft-gateway, wireguard-go, OpenVPN, shadowsocks, ssh, stunnel and kcptun encrypt; HAProxy and socat do not.
"""


def page(plans: Sequence[Plan], rows: Sequence[Rows], *, virtual: bool) -> str:
    """The measurements for the published page: the plans and rows of the league, and of the league at the same time as
    plain TCP."""
    league, beside = rows
    cases = plans[0].sweep["scenario.case"]
    transfer, beside_transfer = plans[0].base.transfer, plans[1].base.transfer
    return _ABOUT.format(
        seconds=_seconds(transfer.duration),
        short=readable.size(transfer.short),
        marked="" if virtual else _MARKED,
        goodput=_by_path(league, cases, _goodput),
        short_times=_by_path(league, cases, _short),
        cpu="" if virtual else _CPU.format(table=_by_path(league, cases, _cpu)),
        beside_path=_spoken(_path(beside[0])),
        beside_seconds=_seconds(beside_transfer.duration),
        beside=_beside(beside, cases),
    )


def _seconds(duration_ns: int | None) -> str:
    return readable.number((duration_ns or 0) / 1e9)


def _path(row: dict[str, Any]) -> Path:
    return int(row["rtt_ns"]), int(row["loss_ppb"]), int(row["rate_bps"])


def _spoken(path: Path) -> str:
    rtt, loss, rate = path
    return f"{readable.rate(rate)}, {readable.duration(rtt)}, {readable.ratio_ppb(loss)} loss"


def _by_path(rows: Rows, cases: Sequence[str], figure: Callable[[dict[str, Any]], str]) -> str:
    paths = sorted({_path(row) for row in rows}, key=lambda path: (path[2], path[0], path[1]))
    found = {(str(row["case"]), _path(row)): row for row in rows}
    lines = [[case, *(_marked(found.get((case, path)), figure) for path in paths)] for case in cases]
    return _table(["", *map(_spoken, paths)], lines)


def _marked(row: dict[str, Any] | None, figure: Callable[[dict[str, Any]], str]) -> str:
    if row is None:
        return NOTHING
    if row["state"] != "done":
        return FAILED
    return figure(row) + ("" if row["valid"] else NOT_VALID)


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [heads, ["---", *("---:" for _ in heads[1:])], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _goodput(row: dict[str, Any]) -> str:
    return _mbit(row["short_term_bps"])


def _mbit(bps: float | None) -> str:
    return NOTHING if bps is None else readable.number(bps / 1e6, 3)


def _short(row: dict[str, Any]) -> str:
    took_ns = row["short_median_ns"]
    return NOTHING if took_ns is None else readable.number(took_ns / 1e6, 3)


def _cpu(row: dict[str, Any]) -> str:
    if row["cpu_gateways_ns"] is None or row["short_term_bps"] is None:
        return NOTHING
    return readable.number(row["cpu_gateways_ns"] / carried_bytes(row), 3)


def carried_bytes(row: dict[str, Any]) -> float:
    """The bytes that the gateways carried in the bulk transfer and in the short ones. A nanosecond per byte is a second
    per gigabyte."""
    bulk = row["short_term_bps"] * row["elapsed_ns"] / 8e9
    return float(bulk + (row["shorts"] or 0) * (row["short_bytes"] or 0))


def _beside(rows: Rows, cases: Sequence[str]) -> str:
    found = {str(row["case"]): row for row in rows}
    figures = (_goodput, lambda row: _mbit(row["plain_bps"]), _share)
    lines = [[case, *(_marked(found.get(case), figure) for figure in figures)] for case in cases]
    return _table(["", "this one, Mbit/s", "plain TCP, Mbit/s", "share of plain TCP"], lines)


def _share(row: dict[str, Any]) -> str:
    own, plain = row["short_term_bps"], row["plain_bps"]
    return NOTHING if own is None or plain is None else readable.share(plain / (own + plain), 2)
