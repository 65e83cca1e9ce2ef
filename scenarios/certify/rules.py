"""The Land Speed Record's rules R1 to R8 and R10, one function each: what a rule asks for, whether it holds, and the
figures that show it. R9 and R11 are not given in the papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from netcommon import readable
from scenarios.certify import distance, records
from scenarios.certify.subject import Subject
from scenarios.plan.path import LIGHT_IN_FIBRE_MPS
from scenarios.statistics.rfc6349 import most_bps

Verdict = Literal["holds", "does not hold", "cannot be shown by emulation"]
LEAST_M = 100_000
LEAST_ROUTERS = 2
LEAST_NS = 600 * 10**9
ATTACHED = ("params.json", "status.json", "transfer.json", "tcp_info.parquet")


@dataclass(frozen=True)
class Evidence:
    """One figure with its unit. ``file``: its source, relative to the run; empty: computed by a rule."""

    what: str
    value: str
    file: str = ""


@dataclass(frozen=True)
class Rule:
    """A rule, and whether this run fulfils it."""

    name: str
    asks: str
    verdict: Verdict
    evidence: tuple[Evidence, ...]


def judge(run: Subject) -> list[Rule]:
    """Every rule that the papers give, in order."""
    return [rule(run) for rule in RULES]


def _rule(name: str, asks: str, met: bool, *evidence: Evidence) -> Rule:
    return Rule(name, asks, "holds" if met else "does not hold", evidence)


def _r1(run: Subject) -> Rule:
    routers, elapsed_ns = run.params["routers"], run.transfer["summary"]["elapsed_ns"]
    length_m = sum(distance.legs_m(run.route.counted))
    met = length_m >= LEAST_M and routers >= LEAST_ROUTERS and elapsed_ns >= LEAST_NS
    return _rule(
        "R1",
        "at least 100 km, at least 2 routers, at least 10 minutes",
        met,
        Evidence("distance over points that count", _route(run, length_m), "manifest.json"),
        Evidence("routers of the emulated path", str(routers), f"{run.trial}/params.json"),
        Evidence("time of the transfer", readable.duration(elapsed_ns), f"{run.trial}/transfer.json"),
    )


def _r2(run: Subject) -> Rule:
    network = Evidence("network", "namespaces and a delay box of one machine", "manifest.json")
    return Rule("R2", "at least one production research network", "cannot be shown by emulation", (network,))


def _r3(run: Subject) -> Rule:
    hosts = {tuple(sorted(_hosts(run.transfer[side]))) for side in ("sender", "receiver")}
    gateway, mptcp = run.params["gateway"], run.transfer["params"]["mptcp"]
    file, met = f"{run.trial}/transfer.json", len(hosts) == 1 and gateway == "none" and not mptcp
    return _rule(
        "R3",
        "one pair of IP addresses, TCP/IP by RFC 793 and 791",
        met,
        Evidence("pairs of addresses that both ends saw", "; ".join(sorted(" – ".join(pair) for pair in hosts)), file),
        Evidence("gateways on the path", gateway, f"{run.trial}/params.json"),
        Evidence("Multipath TCP", readable.named("mptcp", mptcp), file),
    )


def _r4(run: Subject) -> Rule:
    commits = run.manifest.get("commits") or {}
    changed = sorted(name for name, commit in commits.items() if commit.endswith("-dirty"))
    others = run.params["gateway"] == "command"
    return _rule(
        "R4",
        "equipment and software on sale, or open source",
        not changed and not others,
        Evidence("programs with changes that no commit holds", ", ".join(changed) or "none", "manifest.json"),
        Evidence("gateways of others, whose licence is unknown here", "yes" if others else "none", "manifest.json"),
        Evidence("lfp (MIT and GPL-2.0)", run.manifest["versions"]["lfp"], "manifest.json"),
        *(Evidence(f"commit of {name}", commit, "manifest.json") for name, commit in commits.items()),
        Evidence("kernel (GPL-2.0)", run.manifest["kernel"], "manifest.json"),
    )


def _r5(run: Subject) -> Rule:
    wanted = ["manifest.json", "results.parquet", *(f"{run.trial}/{name}" for name in ATTACHED)]
    missing = [name for name in wanted if name not in run.hashes]
    captures = sum("/capture/" in name for name in run.hashes)
    return _rule(
        "R5",
        "all information needed for certification is attached",
        not missing,
        Evidence("files with their SHA-256", str(len(run.hashes)), "hashes.json"),
        Evidence("of these captures", str(captures), "hashes.json"),
        Evidence("missing", ", ".join(missing) or "none", "hashes.json"),
    )


def _r6(run: Subject) -> Rule:
    file = f"{run.trial}/params.json"
    return _rule(
        "R6",
        "IPv4 or IPv6, single or multiple stream; a single-stream mark counts among multiple streams, too",
        True,
        Evidence("protocol", run.family, file),
        Evidence("class", run.kind, file),
        Evidence("streams", str(run.params["parallel"]), file),
    )


def _r7(run: Subject) -> Rule:
    verified = run.transfer["summary"].get("verified")
    file, asked = f"{run.trial}/transfer.json", run.params["verify"]
    met = asked is True and verified == "ok" and run.transfer["summary"]["complete"]
    return _rule(
        "R7",
        "from user space to user space, every buffer differs, delivery is proven",
        met,
        Evidence("content asked to be checked", readable.named("verify", asked), f"{run.trial}/params.json"),
        Evidence("the receiver's check of every byte", verified or "none", file),
        Evidence("data", readable.size(run.transfer["summary"]["bytes"]), file),
    )


def _r8(run: Subject) -> Rule:
    """Whether the emulated path can represent the distance in the score: it has enough routers, and at least light's
    delay."""
    light_ns = round(run.distance_m * 10**9 / LIGHT_IN_FIBRE_MPS)
    rtt_ns, routers, params = run.params["rtt_ns"], run.params["routers"], f"{run.trial}/params.json"
    met = run.score > 0 and run.route.routers <= routers and rtt_ns >= 2 * light_ns
    return _rule(
        "R8",
        "score = bandwidth × great-circle distance between end points and routers",
        met,
        Evidence("score", f"{round(run.score)} Tbit·m/s"),
        Evidence("short-term rate", readable.rate(run.rate_bps), f"{run.trial}/transfer.json"),
        Evidence("distance, at most 30000 km", readable.distance(run.distance_m), "manifest.json"),
        Evidence("routers that count, of those emulated", f"{run.route.routers} of {routers}", params),
        Evidence("RTT of the empty path", readable.duration(rtt_ns), params),
        Evidence("light in fibre needs for that distance, there and back", readable.duration(2 * light_ns)),
    )


def _r10(run: Subject) -> Rule:
    old, ratio, most = run.record, run.score / run.record.score, most_bps(run.params)
    full, params = most * run.distance_m / 1e12 / old.score if most else None, f"{run.trial}/params.json"
    return _rule(
        "R10",
        "a new record beats the old one by at least 10 %",
        ratio >= records.FACTOR,
        Evidence("judged by the records before", run.entered or "today: all that are known"),
        Evidence("record of the class", f"{old.score} Tbit·m/s, {old.date}, {old.group}"),
        Evidence("this run's score, of that record", readable.share(ratio)),
        Evidence("score of a path that is never idle, of that record", readable.share(full), params),
    )


RULES: tuple[Callable[[Subject], Rule], ...] = (_r1, _r2, _r3, _r4, _r5, _r6, _r7, _r8, _r10)


def _route(run: Subject, length_m: float) -> str:
    names = " – ".join(place.name for place in run.route.counted)
    return f"{readable.distance(length_m)} ({names})" if names else "none: the scenario has no [route]"


def _hosts(side: dict[str, str]) -> tuple[str, str]:
    """The addresses of a side's two ends, without ports."""
    return side["local"].rpartition(":")[0], side["remote"].rpartition(":")[0]
