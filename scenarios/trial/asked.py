"""What a scenario asks of TCP, compared with what the kernel says at the end of the trial: the congestion control, ECN,
MSS and path MTU, window scale, SACK, time stamps and pacing, at both ends of every flow, in both directions.

This module is pure: it reads a resolved scenario and the ``end`` objects of the transfer tools. What ran is in their
TCP_INFO, for iperf3 by sock_diag (`rttcp.iperf3_tool`), and in the SYNs where the delay box recorded them
(`handshakes`). What they lack is reported as "not known" and does not make a trial invalid. Behind gateways the other
end of a connection is a gateway's, whose settings no scenario asks for. There only the settings that an end chooses
alone are compared: its congestion control and its pacing. Rejected: a comparison with what was written into the
namespaces. The kernel takes such a setting and may still do something else: it falls back to Reno for a DCTCP without
ECN, and gives ECN up when a SYN is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from netcommon import readable
from scenarios.plan import flows, profiles
from scenarios.plan.model import Scenario
from scenarios.plan.profiles import Profile
from scenarios.trial import transfer_tool
from scenarios.trial.verdicts import Reason

Json = Mapping[str, Any]

CONTROL, ECN, MSS, PATH_MTU = "congestion control", "ECN", "MSS", "path MTU"
WINDOW_SCALE, SACK, TIME_STAMPS, PACING = "window scale", "SACK", "time stamps", "pacing"
# What helps when something else ran, by the scenario's or the kernel's name of the setting.
_HELP = {
    CONTROL: "the kernel there has to have it (`sysctl net.ipv4.tcp_available_congestion_control`)",
    ECN: "both ends have to want it (net.ipv4.tcp_ecn in profile.sysctl), and a SYN that is lost is sent again without "
    "it, unless profile.sysctl has net.ipv4.tcp_ecn_fallback=0",
    MSS: "the interfaces of both hosts have to have the MTU path.mtu",
    PATH_MTU: "the interfaces on the path have to have the MTU path.mtu",
    WINDOW_SCALE: "both ends have to want it: net.ipv4.tcp_window_scaling",
    SACK: "both ends have to want it: net.ipv4.tcp_sack",
    TIME_STAMPS: "both ends have to want them: net.ipv4.tcp_timestamps",
    PACING: "something else sets the socket's rate: take another transfer.tool, or no transfer.pace",
}
_NO_ECN_HELP = "it needs ECN, which was not agreed on; {}"
_BEHIND_GATEWAYS = "the other end is a gateway, which refuses it: leave the gateways out, or take another control"
_LATE = "iperf3 sets the control when the connection is there: add net.ipv4.tcp_ecn=1 to profile.sysctl, or take rttcp"
_BOTH = "the other end has to have the same control before the connection is opened"

_OPTIONS = {TIME_STAMPS: 1, SACK: 2, WINDOW_SCALE: 4}  # bits of tcpi_options
_OPTION_ECN = 8
_SYSCTLS = {TIME_STAMPS: "tcp_timestamps", SACK: "tcp_sack", WINDOW_SCALE: "tcp_window_scaling"}
_ON, _OFF, _NO_PACE = "on", "off", "none"
NO_ECN, RFC3168, ACCECN = "none", "RFC 3168", "AccECN"
_ECN_MODES = {0: NO_ECN, 1: RFC3168, 2: ACCECN}
# What net.ipv4.tcp_ecn requests as a client, and accepts as a server (ip-sysctl.rst), as indices of _ECN_ORDER.
_ECN_ORDER = (NO_ECN, RFC3168, ACCECN)
_ECN_OUT, _ECN_IN = (0, 1, 0, 2, 1, 0), (0, 1, 1, 2, 2, 2)
_NEEDED_ECN = {"dctcp": 1, "lfp_prague": 2}  # by congestion control; indices of _ECN_ORDER
_FALLBACK = "-reno"  # suffix of the name of a control that runs as Reno because there is no ECN
_HEADERS = {"ipv4": 40, "ipv6": 60}
_TIME_STAMP_BYTES = 12
_UNLIMITED = 2**63 - 1  # rttcp's number for the kernel's largest rate, which means no limit
_PLAIN, _PLAIN_CONTROL, _PLAIN_PROFILE = "plain", "cubic", "modern"


@dataclass(frozen=True)
class Fact:
    """A setting of one end of a stream. ``end``: its name for readers; ``ran`` None: not known; ``helps``: the remedy
    if the two differ."""

    end: str
    setting: str
    asked: str
    ran: str | None
    helps: str

    @property
    def differs(self) -> bool:
        """Whether something else ran, as far as that is known."""
        return self.ran is not None and self.ran != self.asked


@dataclass(frozen=True)
class _Question:
    """What is asked of one flow. ``asked``: values by setting; ``tool`` and ``gateways`` determine the remedy."""

    asked: Mapping[str, str]
    tool: str
    gateways: bool


def facts(setting: Scenario, transfer: Json) -> list[Fact]:
    """Every setting that is asked for, at each end of every flow of transfer.json."""
    profile = profiles.of(setting.profile)
    found: list[Fact] = []
    for one in flows.of(setting):
        end = transfer if not one.number else (transfer.get("flows") or {}).get(one.name) or {}
        question = _question(one.setting, profile)
        whose = f"flow {one.name}: " if one.number else ""
        found += _of_transfer(end, question, whose)
        if second := end.get("second"):
            own = _question(one.setting, profile, one.setting.transfer.second)
            found += _of_transfer(second, own, "second transfer: ")
        for short in (end.get("short") or {}).get("ran") or ():
            found += _of_transfer(short, replace(question, asked=dict(question.asked) | {PACING: _NO_PACE}), "short: ")
        if plain := end.get(_PLAIN):
            found += _of_transfer(plain, _plain_question(one.setting), "plain TCP: ")
    return found


def _of_transfer(end: Json, question: _Question, whose: str) -> Iterator[Fact]:
    """Both directions of a transfer."""
    for way, words in ((end, ""), (end.get("reverse") or {}, ", reverse direction")):
        for role in ("sender", "receiver"):
            if side := way.get(role):
                yield from _of_side(side, question, f"{whose}{role}{words}", sends=role == "sender")


def _of_side(side: Json, question: _Question, end: str, *, sends: bool) -> Iterator[Fact]:
    """The facts of one end: of each stream where the tool lists several. Settings that the tool reports for the first
    stream only count once."""
    info = side.get("tcp_info") or {}
    streams: list[Json] = side.get("streams") or []
    for stream in streams if len(streams) > 1 else [{}]:
        own = dict(info) | {key: stream[key] for key in ("options", "ecn_mode") if key in stream and key in info}
        control = {CONTROL: stream.get("congestion") or side.get("congestion") or None}
        yield from _facts(question, end, control | {name: ran(own, question.asked) for name, ran in _BY_STREAM.items()})
    once = {name: ran(info) for name, ran in _ONCE.items() if sends or name != PACING}
    yield from _facts(question, end, once)


def _facts(question: _Question, end: str, ran: Mapping[str, str | None]) -> Iterator[Fact]:
    for name, value in ran.items():
        if name in question.asked:
            yield Fact(end, name, question.asked[name], value, _helps(name, question.asked[name], value, question))


def _helps(name: str, asked: str, ran: str | None, question: _Question) -> str:
    if name == CONTROL and ran == asked + _FALLBACK:
        late = question.tool == "iperf3"
        return _NO_ECN_HELP.format(_BEHIND_GATEWAYS if question.gateways else _LATE if late else _BOTH)
    return _HELP[name]


def _question(setting: Scenario, profile: Profile, congestion: str | None = None) -> _Question:
    """What is asked of the only flow of ``setting``. ``congestion``: replaces its own."""
    transfer, gateways = setting.transfer, setting.gateway.kind != "none"
    control = _name(congestion or transfer.congestion or profile.congestion)
    asked = {CONTROL: control, PACING: _pace(setting)}
    if not gateways:
        asked |= _negotiated(profile, control)
        if setting.topology.kind != "existing":  # their interfaces are not lfp's
            asked |= _sizes(setting)
    return _Question(asked, transfer.tool, gateways)


def _plain_question(setting: Scenario) -> _Question:
    """What is asked of the plain TCP flow during a transfer, which goes from router to router."""
    profile = profiles.load(_PLAIN_PROFILE)
    asked = {CONTROL: _PLAIN_CONTROL, PACING: _NO_PACE} | _negotiated(profile, _PLAIN_CONTROL) | _sizes(setting)
    return _Question(asked, "rttcp", gateways=False)


def _name(congestion: str) -> str:
    """The name in ``NAME:KEY=VALUE,…``."""
    return congestion.partition(":")[0]


def _negotiated(profile: Profile, control: str) -> dict[str, str]:
    """What two hosts with this profile agree on when they connect. What the profile does not set is not asked for."""
    found = {
        name: _OFF if profile.sysctls[f"net.ipv4.{sysctl}"].strip() == "0" else _ON
        for name, sysctl in _SYSCTLS.items()
        if f"net.ipv4.{sysctl}" in profile.sysctls
    }
    needed, wanted = _NEEDED_ECN.get(control, 0), profile.sysctls.get("net.ipv4.tcp_ecn")
    if wanted is None and needed:
        found[ECN] = _ECN_ORDER[needed]
    elif wanted is not None and wanted.isdigit() and int(wanted) < len(_ECN_OUT):
        asks, takes = max(_ECN_OUT[int(wanted)], needed), max(_ECN_IN[int(wanted)], needed)
        found[ECN] = _ECN_ORDER[min(asks, takes)]
    return found


def _sizes(setting: Scenario) -> dict[str, str]:
    mtu = setting.path.mtu
    found = {MSS: f"{mtu - _HEADERS[setting.transfer.family]} bytes"}
    if any(change.mtu for change in setting.path.changes()):  # a sender learns of a smaller MTU only by larger packets
        return found
    return found | {PATH_MTU: f"{mtu} bytes"}


def _pace(setting: Scenario) -> str:
    """The rate at which the kernel paces each stream; a sender that paces its writes asks the kernel for none."""
    transfer = setting.transfer
    if not transfer.pace or transfer.pace_burst:
        return _NO_PACE
    return _rate(transfer.pace // 8 // transfer.parallel)


def _rate(bytes_per_s: int) -> str:
    return readable.rate(8 * bytes_per_s, 9)


def _ecn(info: Json, asked: Mapping[str, str]) -> str | None:
    """The kind of ECN that runs. Linux reports it since 7.0. Before, AccECN is only known to run if the peer sent its
    option; otherwise the kind is unknown if AccECN was asked for, and RFC 3168's if not."""
    if "ecn_mode" in info:
        return _ECN_MODES.get(info["ecn_mode"])
    if "options" not in info:
        return None
    if not info["options"] & _OPTION_ECN:
        return NO_ECN
    if info.get("accecn_opt_seen"):
        return ACCECN
    return None if asked.get(ECN) == ACCECN else RFC3168


def _option(bit: int) -> Callable[[Json, Mapping[str, str]], str | None]:
    def ran(info: Json, _asked: Mapping[str, str]) -> str | None:
        return None if "options" not in info else _ON if info["options"] & bit else _OFF

    return ran


def _mss(info: Json) -> str | None:
    """The MSS that this end offered. ``advmss`` leaves out the option of time stamps where both ends have it."""
    if "advmss" not in info or "options" not in info:
        return None
    return f"{info['advmss'] + _TIME_STAMP_BYTES * (info['options'] & _OPTIONS[TIME_STAMPS])} bytes"


def _path_mtu(info: Json) -> str | None:
    return f"{info['pmtu']} bytes" if "pmtu" in info else None


def _paced(info: Json) -> str | None:
    rate = info.get("max_pacing_rate_bytes_per_s")
    return None if rate is None else _NO_PACE if rate >= _UNLIMITED else _rate(rate)


_BY_STREAM = {ECN: _ecn} | {name: _option(bit) for name, bit in _OPTIONS.items()}
_ONCE = {MSS: _mss, PATH_MTU: _path_mtu, PACING: _paced}


@dataclass(frozen=True)
class Handshake:
    """What the SYNs of a connection say: the ports and the MSS of both ends, and what both offered. ``ecn`` None: not
    known."""

    ports: frozenset[int]
    mss: tuple[int | None, ...]
    window_scale: bool
    sack: bool
    time_stamps: bool
    ecn: str | None


def seen(setting: Scenario, transfer: Json, handshakes: Iterable[Handshake]) -> list[Fact]:
    """The requested settings compared with the captured SYNs of the data connections. Empty behind gateways, which open
    connections of their own."""
    profile, found = profiles.of(setting.profile), list[Fact]()
    for one in flows.of(setting):
        end = transfer if not one.number else (transfer.get("flows") or {}).get(one.name) or {}
        question = _question(one.setting, profile)
        own = _ports(end) or {frozenset({port}) for port in _iperf3_port(one)}
        for handshake in handshakes:
            if not question.gateways and any(ports <= handshake.ports for ports in own):
                found += _facts(question, f"flow {one.name}: SYN" if one.number else "SYN", _offered(handshake))
                found += [fact for mss in handshake.mss for fact in _facts(question, "SYN", {MSS: _bytes(mss)})]
    return found


def _offered(handshake: Handshake) -> dict[str, str | None]:
    both = {WINDOW_SCALE: handshake.window_scale, SACK: handshake.sack, TIME_STAMPS: handshake.time_stamps}
    return {ECN: handshake.ecn} | {name: _ON if offered else _OFF for name, offered in both.items()}


def _ports(end: Json) -> set[frozenset[int]]:
    """The pairs of ports of a transfer's data connections, as rttcp names them."""
    ways = (end, end.get("reverse") or {}, end.get("second") or {})
    rows = [row for way in ways for row in (way.get("sender") or {}).get("streams") or [] if "local" in row]
    return {frozenset(int(row[name].rpartition(":")[2]) for name in ("local", "remote")) for row in rows}


def _iperf3_port(one: flows.One) -> tuple[int, ...]:
    """The server's port of iperf3's data connection, which is also that of its control connection; empty for other
    tools."""
    return (transfer_tool.ports(one.number)[0],) if one.setting.transfer.tool == "iperf3" else ()


def _bytes(number: int | None) -> str | None:
    return None if number is None else f"{number} bytes"


def reasons(found: Iterable[Fact]) -> list[Reason]:
    """A reason for each setting that differs, with all ends where it differs in the same way. ECN has no reason of its
    own at an end whose control fell back because ECN is missing."""
    different = [fact for fact in found if fact.differs]
    fell_back = {fact.end for fact in different if fact.setting == CONTROL and fact.ran == fact.asked + _FALLBACK}
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for fact in different:
        if fact.setting != ECN or fact.end not in fell_back:
            alike.setdefault((fact.setting, fact.asked, str(fact.ran), fact.helps), []).append(fact.end)
    return [
        Reason(
            "asked",
            f"{setting}: {wanted} was asked for, {ran} is what ran ({_counted(ends)}): {helps}",
            f"{ran}, not {wanted}" if setting == CONTROL else f"{setting} {ran}, not {wanted}",
        )
        for (setting, wanted, ran, helps), ends in alike.items()
    ]


def further(found: Iterable[Fact], known: Iterable[Reason]) -> list[Reason]:
    """The reasons of these facts that ``known`` does not already hold in other words."""
    said = list(known)
    fell_back = any(reason.kind == "asked" and _FALLBACK in reason.short for reason in said)
    return [
        reason
        for reason in reasons(found)
        if reason.short not in {one.short for one in said} and not (fell_back and reason.text.startswith(f"{ECN}: "))
    ]


def unknown(found: Iterable[Fact]) -> list[str]:
    """``SACK (sender, receiver)`` for each setting whose value the tools do not say."""
    ends: dict[str, list[str]] = {}
    for fact in found:
        if fact.ran is None:
            ends.setdefault(fact.setting, []).append(fact.end)
    return [f"{setting} ({_counted(own)})" for setting, own in ends.items()]


def _counted(ends: list[str]) -> str:
    """The ends in words: ``sender, receiver``, or ``sender × 3`` for three streams."""
    counts = {end: ends.count(end) for end in ends}
    return ", ".join(end if count == 1 else f"{end} × {count}" for end, count in counts.items())


def rows(found: Iterable[Fact]) -> list[dict[str, Any]]:
    """For status.json: each fact once, with the number of streams that it applies to."""
    counted: dict[Fact, int] = {}
    for fact in found:
        counted[fact] = counted.get(fact, 0) + 1
    return [
        {"end": fact.end, "setting": fact.setting, "asked": fact.asked, "ran": fact.ran, "streams": count}
        for fact, count in counted.items()
    ]
