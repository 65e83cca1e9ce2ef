"""The flows of a setting: [transfer]'s, then those of [flow.NAME], each as a setting with this flow alone.

Everything that is derived for one flow (command lines, duration, errors) is derived for each flow from such a setting.
A flow takes every key that it leaves out from [transfer]. This is done before the values are validated, so that what
holds for [transfer] holds for flows too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from netcommon import quantity
from scenarios.plan import profiles
from scenarios.plan.document import EXCLUSIVE
from scenarios.plan.gateway import Gateway
from scenarios.plan.model import MOST_FLOWS, Flow, Pair, Scenario
from scenarios.plan.path import OwnPath, PathTable
from scenarios.plan.transfer import Transfer

MAIN = "main"  # the name of [transfer]'s own flow
_NOT_TOLD = ("congestion", "sample", "interval", "timeout", "zerocopy", "length")  # not in a flow's text


@dataclass(frozen=True)
class One:
    """A flow. The flow of [transfer] has ``number`` 0 and ``name`` MAIN. ``setting``: the scenario as if this flow were
    alone, with its transfer, and the gateways and the own path of its pair."""

    number: int
    name: str
    pair: int
    start_ns: int
    setting: Scenario


def of(setting: Scenario) -> list[One]:
    """All flows of a setting, [transfer]'s first."""
    if not setting.flow and not setting.pair:
        return [One(0, MAIN, 1, 0, setting)]
    flows: dict[str, Transfer] = {MAIN: setting.transfer, **setting.flow}
    return [
        One(number, name, pair_of(flow), flow.start if isinstance(flow, Flow) else 0, _alone(setting, flow))
        for number, (name, flow) in enumerate(flows.items())
    ]


def controls(setting: Scenario) -> set[str]:
    """The congestion controls of all flows, with their parameters."""
    default = profiles.of(setting.profile).congestion
    transfers = [one.setting.transfer for one in of(setting)]
    return {
        control for transfer in transfers for control in (transfer.congestion or default, transfer.second) if control
    }


def pair_of(flow: Transfer) -> int:
    """The number of the host pair that a flow is on."""
    return flow.pair if isinstance(flow, Flow) else 1


def pairs(setting: Scenario) -> list[int]:
    """The numbers of the host pairs, from 1: as many as flows and [pair.N] name."""
    named = [pair_of(flow) for flow in setting.flow.values()] + [int(number) for number in setting.pair]
    return list(range(1, max(named, default=1) + 1))


def gateway_of(setting: Scenario, pair: int) -> Gateway:
    """The gateways that a pair is behind."""
    own = setting.pair.get(str(pair))
    return own.gateway if own and own.gateway else setting.gateway


def shares_gateway(setting: Scenario, pair: int) -> bool:
    """Whether a pair is behind the gateways of [gateway], as those without gateways of their own are."""
    own = setting.pair.get(str(pair))
    return not (own and own.gateway)


def meets_events(setting: Scenario, pair: int) -> bool:
    """Whether a pair is behind the gateways to which [[event]] happens: those of the first pair that has any."""
    first = next((one for one in pairs(setting) if gateway_of(setting, one).kind != "none"), None)
    if first is None or first == pair:
        return first is not None
    return gateway_of(setting, first).has_nodes and shares_gateway(setting, first) and shares_gateway(setting, pair)


def own_path(setting: Scenario, pair: int) -> OwnPath | None:
    """The path that a pair has of its own in front of [path], with what [path] says for the whole network."""
    own = setting.pair.get(str(pair))
    if own is None or own.path is None:
        return None
    whole = {key: getattr(setting.path, key) for key in OwnPath.REFUSED - {"change"}}
    seed = {} if setting.path.seed is None else {"seed": setting.path.seed + pair}  # each box draws independently
    return own.path.model_copy(update=whole | seed)


def path_text(setting: Scenario, pair: int) -> str | None:
    """What a pair's own path sets, in the scenario's words; None if the pair has none."""
    own = setting.pair.get(str(pair))
    return own.path.text() if own and own.path else None


def own_paths(setting: Scenario) -> dict[int, OwnPath]:
    """The paths that pairs have of their own, by the number of the pair."""
    found = ((pair, own_path(setting, pair)) for pair in pairs(setting))
    return {pair: own for pair, own in found if own is not None}


def paths(setting: Scenario) -> list[PathTable]:
    """[path], and the paths that pairs have of their own: what the delay boxes are made from."""
    return [setting.path, *own_paths(setting).values()]


def crossed(setting: Scenario, pair: int) -> int:
    """How many of [path]'s bottlenecks a pair crosses, one after the other: in a parking lot pair 1 crosses all."""
    return (setting.topology.hops or 1) if pair == 1 else 1


def rtt_ns(setting: Scenario, pair: int) -> int:
    """The round-trip time of a pair's empty path, without queueing and jitter."""
    own = own_path(setting, pair)
    return crossed(setting, pair) * setting.path.rtt_ns() + (own.rtt_ns() if own else 0)


def _alone(setting: Scenario, flow: Transfer) -> Scenario:
    number = pair_of(flow)
    pair = setting.pair.get(str(number))
    own: dict[str, Any] = {"transfer": flow, "gateway": gateway_of(setting, number), "flow": {}}
    own["pair"] = {"1": Pair(path=pair.path)} if pair and pair.path else {}
    return setting.model_copy(update=own)


def spelled_out(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a document in which each flow has the keys that it takes from [transfer]. An amount of its own
    replaces [transfer]'s."""
    flows, transfer = values.get("flow"), values.get("transfer")
    if not isinstance(flows, dict) or not isinstance(transfer, dict):
        return dict(values)
    known = {name: _whole(transfer, own) if isinstance(own, dict) else own for name, own in flows.items()}
    return dict(values) | {"flow": known}


def _whole(transfer: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    rivals = {key for group in EXCLUSIVE for table, key in group if table == "transfer"}
    left = rivals if rivals & own.keys() else set()
    return {key: value for key, value in transfer.items() if key not in left} | dict(own)


def beside(setting: Scenario, number: int, default: str) -> str | None:
    """The flows that run next to flow ``number``, in a few words: ``reno, pair 2, from 9s; 3 × cubic``. None: nothing.
    ``default``: the congestion control of flows that name none."""
    words = [_words(one, setting, default) for one in of(setting) if one.number != number]
    counted = Counter(words)
    return "; ".join(f"{count} × {text}" if count > 1 else text for text, count in counted.items()) or None


def _words(flow: One, setting: Scenario, default: str) -> str:
    values, main = (_told(transfer) for transfer in (flow.setting.transfer, setting.transfer))
    said = [flow.setting.transfer.congestion or default]
    said += [f"pair {flow.pair}"] if len(pairs(setting)) > 1 else []
    said += filter(None, [path_text(setting, flow.pair)])
    said += [f"from {quantity.format_duration(flow.start_ns)}"] if flow.start_ns else []
    said += [f"{key} {value}" for key, value in values.items() if value is not None and value != main.get(key)]
    return ", ".join(said)


def _told(transfer: Transfer) -> dict[str, Any]:
    dumped = transfer.model_dump(mode="json", include=set(Transfer.model_fields))
    return {key: value for key, value in dumped.items() if key not in _NOT_TOLD}


def wrong(setting: Scenario) -> Iterator[tuple[tuple[str, ...], str]]:
    """Keys whose values fit no flow or topology of this setting, each with the reason."""
    yield from _wrong_flows(setting)
    yield from _wrong_pairs(setting)


def _wrong_flows(setting: Scenario) -> Iterator[tuple[tuple[str, ...], str]]:
    if setting.flow and setting.transfer.second:
        yield ("transfer", "second"), "not with [flow.NAME], which says more; write the second flow as one of those"
    for key in ("plain", "short"):
        if getattr(setting.transfer, key) and (setting.flow or setting.topology.kind != "dumbbell"):
            yield ("transfer", key), "not with [flow.NAME], and on the dumbbell alone; leave it out"
    if len(setting.flow) > MOST_FLOWS:
        yield ("flow",), f"{len(setting.flow)} flows in addition to [transfer]'s; at most {MOST_FLOWS}"
    for name, flow in setting.flow.items():
        if name == MAIN:
            yield ("flow", name), f"'{MAIN}' is the name of [transfer]'s own flow; take another name"
        for key in ("second", "plain", "short"):
            if getattr(flow, key):
                yield ("flow", name, key), "not in a flow; write another [flow.NAME]"
        hops = setting.topology.hops
        if hops is not None and flow.pair > hops + 1:
            yield (
                ("flow", name, "pair"),
                (
                    f"a parking lot with {hops} hops has pairs 1 to {hops + 1}; take one of them, or set "
                    f"topology.hops to {flow.pair - 1}"
                ),
            )


def _wrong_pairs(setting: Scenario) -> Iterator[tuple[tuple[str, ...], str]]:
    topology, existing = setting.topology, setting.topology.kind == "existing"
    for number in pairs(setting):
        keys = setting.pair.get(str(number))
        for end in ("sender", "receiver"):
            host = getattr(keys, end) if keys else None
            if host and not existing:
                yield (
                    ("pair", str(number), end),
                    ('only for hosts that exist already; set topology.kind = "existing", or leave it out'),
                )
            if existing and not host:
                yield ("topology", "kind"), f"pair {number} has no {end}; write [pair.{number}.{end}] with its address"
        if keys and keys.path and existing:
            yield ("pair", str(number), "path"), "not between hosts that exist; leave it out"
        behind = [one for one in pairs(setting) if shares_gateway(setting, one)]
        if keys and keys.path and number in behind and len(behind) > 1 and gateway_of(setting, number).has_nodes:
            yield (
                ("pair", str(number), "path"),
                (
                    f"the path begins at the near gateway, which pairs {' and '.join(map(str, behind))} share; "
                    f"give the pair its own [pair.{number}.gateway], or leave it out"
                ),
            )
    if topology.kind == "parking-lot":
        if setting.path.routers != 2:
            yield ("path", "routers"), "a parking lot has a router more than hops; leave it out"
        if any(gateway_of(setting, number).kind != "none" for number in pairs(setting)):
            yield ("topology", "kind"), 'a parking lot has no gateways; use kind "dumbbell", or leave them out'
    for number in pairs(setting):
        gateway = gateway_of(setting, number)
        if gateway.kind == "command" and gateway.has_ports and shares_gateway(setting, number):
            through = [one for one in of(setting) if shares_gateway(setting, one.pair)]
            if other := next((one.name for one in through if one.pair != through[0].pair), None):
                yield (
                    ("flow", other),
                    (
                        f"a proxy of kind command forwards its ports to one receiver, here pair {through[0].pair}'s; "
                        "put the flow on that pair, or give its own [pair.N.gateway]"
                    ),
                )
        if gateway.is_asked:
            for one in of(setting):
                if one.pair == number and one.setting.transfer.tool != "rttcp":
                    yield ("transfer", "tool"), f'rttcp alone asks a proxy "{gateway.proxy}"; use tool = "rttcp"'
    if existing:
        yield from _wrong_existing(setting)


def _wrong_existing(setting: Scenario) -> Iterator[tuple[tuple[str, ...], str]]:
    if any(gateway_of(setting, number).kind != "none" for number in pairs(setting)):
        yield ("topology", "kind"), "hosts that exist have gateways of their own or none; leave [gateway] out"
    if points := [point for point in setting.capture.points if point != "box"]:
        yield ("capture", "points"), f"'{points[0]}' is on a host that lfp did not make; want \"box\" or none"
    if "box" in setting.capture.points and setting.topology.left is None:
        yield ("capture", "points"), "no delay box is between hosts without topology.left and right; leave it out"
    if any(change.mtu for change in setting.path.changes()):
        yield ("path", "change"), "lfp does not change the MTU between hosts that exist; leave mtu out"
    hosts = [host for own in setting.pair.values() for host in (own.sender, own.receiver) if host]
    if any(host.ssh for host in hosts) and any(one.setting.transfer.tool != "rttcp" for one in of(setting)):
        yield ("transfer", "tool"), 'over SSH the tool is rttcp; use tool = "rttcp"'
    if setting.profile.name != AS_IT_IS:
        yield ("profile", "name"), f'lfp does not change TCP settings of hosts that exist; want "{AS_IT_IS}"'
    if setting.profile.sysctl != "none":
        yield ("profile", "sysctl"), "lfp does not change TCP settings of hosts that exist; leave it out"


AS_IT_IS = "as-it-is"  # the profile that sets nothing
