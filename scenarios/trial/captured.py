"""A flow's captured connections, and what they show: what limited the flow, and why packets were lost.

A flow's connections are found by the ports that its sender reports. Where gateways end connections, each is two
connections, the client's and the far gateway's. What limited the transfer is then found from both together
(through.json). The client's connection alone shows how long it waited for the gateway, but not what the gateway waited
for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenarios.plan.columns import MARKS
from scenarios.trial.files import read_json

SERVER = "server"  # folder of the second connection that the data pass
REVERSE = "reverse"  # folder of what the receivers sent: responses, and the reverse direction of `bidir`
THROUGH = "through.json"


@dataclass(frozen=True)
class Captured:
    """What the captures say of one flow, its streams together. ``limits_ns``, ``losses``, ``losses_seen``, ``marks``
    (of ECN, by column), ``verdict``: None where the capture points do not show it."""

    numbers: tuple[int, ...]
    stopped_share: float | None
    limits_ns: Mapping[str, int] | None
    losses: Mapping[str, int] | None
    losses_seen: Mapping[str, int] | None
    marks: Mapping[str, int] | None
    verdict: tuple[str, float | None] | None = None  # the limit's cause and its share of the time, if measured
    retransmitted: int | None = None  # packets with data that the flow's own sender sent again


NOTHING = Captured((), None, None, None, None, None)


def numbers(summary: dict[str, Any], end: Mapping[str, Any], *, alone: bool = True) -> list[int]:
    """The flow's connections in a summary.json, by number, the one with the most data first. ``alone``: the trial has
    no other flow, so where the sender did not report its ports the connection with the most data is its own."""
    import pktlogger  # not on top: it imports pyarrow, which a trial in virtual time should not wait for

    sender = end.get("sender") or {}
    ends = [(str(one["local"]), str(one["remote"])) for one in sender.get("streams") or [sender] if one.get("local")]
    if ends or not alone or "main_flow" not in summary:
        return pktlogger.between(summary, ends)
    return [int(summary["main_flow"])]


def behind_gateways(own: Iterable[int], client: dict[str, Any], server: dict[str, Any]) -> list[int]:
    """The far gateway's connections that carry the bytes of the client's connections ``own``, by both summary.json."""
    import pktlogger

    far = pktlogger.pair_flows(client, server)
    return [far[number] for number in own if number in far]


def of_flow(folder: Path, end: Mapping[str, Any], *, behind_gateway: bool, alone: bool) -> Captured:
    """``end``: the sender's last object. ``behind_gateway``: the sender's connections end at a gateway."""
    summary = read_json(folder / "summary.json") or {}
    connections = numbers(summary, end, alone=alone)
    flows = [flow_of(summary, number) for number in connections]
    if not flows:
        return NOTHING
    stopped, limits = flows[0].get("stopped_share"), [flow.get("limits_ns") for flow in flows]
    verdict = _verdict(flows)
    again = sum(int(flow.get("retransmitted") or 0) for flow in flows)
    if behind_gateway:
        through = (read_json(folder / THROUGH) or {}).get("flows") or []
        limits = [_through(through, number).get("limits_ns") for number in connections]
        verdict = _most([_through(through, number).get("verdict_ns") for number in connections])
        server = read_json(folder / SERVER / "summary.json") or {}
        flows += [flow_of(server, _through(through, number).get("far_flow", -1)) for number in connections]
    causes, seen = ([flow.get(key) for flow in flows] for key in ("losses_by_cause", "losses_seen"))
    marks = [{name: flow[name] for name in MARKS if flow.get(name) is not None} or None for flow in flows]
    return Captured(tuple(connections), stopped, _sum(limits), _sum(causes), _sum(seen), _sum(marks), verdict, again)


def _verdict(flows: list[dict[str, Any]]) -> tuple[str, float | None] | None:
    """The verdict on a flow's connections. For one connection it is the analysis's verdict; for several it is the limit
    that took the most time of all of them together, under the name that verdicts use for it."""
    if len(flows) > 1:
        return _most([_as_verdict(flow) for flow in flows])
    verdict = flows[0].get("verdict")
    return (verdict["cause"], verdict["share"]) if verdict else None


def _as_verdict(flow: dict[str, Any]) -> dict[str, int] | None:
    """The times of a connection's limits by the names under which its verdict counts them; None in analyses of earlier
    versions, which lack these names."""
    if flow.get("limits_as") is None:
        return None
    found: Counter[str] = Counter()
    for name, lasted_ns in (flow.get("limits_ns") or {}).items():
        found[flow["limits_as"].get(name, name)] += lasted_ns
    return dict(found)


def _most(times_ns: list[dict[str, int] | None]) -> tuple[str, float | None] | None:
    """The name with the most time in total, and its share; None where one of the times is unknown, or no time
    passed."""
    found = _sum(times_ns) or {}
    if not sum(found.values()):
        return None
    most = max(found, key=lambda name: found[name])
    return most, found[most] / sum(found.values())


def of_reverse(folder: Path, side: Mapping[str, Any], *, behind_gateway: bool, alone: bool) -> Captured:
    """Like `of_flow`, for the data that a flow's receiver sent. ``side``: that end's account, whose streams have its
    ports."""
    return of_flow(folder / REVERSE, {"sender": side}, behind_gateway=behind_gateway, alone=alone)


def sent_back(end: Mapping[str, Any]) -> dict[str, Any] | None:
    """The account of the receiving end, if it sends data, too: responses, or the reverse direction of `bidir`."""
    if end.get("reverse"):
        return end["reverse"].get("sender") or {}
    return end.get("receiver") or {} if (end.get("summary") or {}).get("exchange") else None


def flow_of(summary: dict[str, Any], number: int) -> dict[str, Any]:
    """A connection of a summary.json by number; empty where there is none."""
    flows: list[dict[str, Any]] = summary.get("flows") or []
    return next((flow for row, flow in enumerate(flows) if flow.get("flow", row) == number), {})


def _through(flows: list[dict[str, Any]], number: int) -> dict[str, Any]:
    return next((flow for flow in flows if flow["flow"] == number), {})


def _sum(counts: list[dict[str, int] | None]) -> dict[str, int] | None:
    """The sums of these counts by name; None where one of the counts is not known."""
    known = [one for one in counts if one is not None]
    if len(known) < len(counts):
        return None
    found: Counter[str] = Counter()
    for one in known:
        found.update(one)
    return dict(found)
