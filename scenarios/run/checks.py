"""What the machine must have, and what to do where it lacks something.

``lfp doctor`` shows all findings; a run shows the first that is missing.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from netcommon import binaries, extras, netns, unprivileged
from netcommon.errors import MissingError
from scenarios.network import sysctls
from scenarios.plan import congestion, flows, profiles
from scenarios.plan.model import Scenario
from scenarios.plan.profiles import Profile
from scenarios.virtual import kernel

State = Literal["ok", "note", "missing"]

# Program → Debian package. Every run needs the first group; the others serve single commands.
NEEDED_PROGRAMS = {
    "ip": "iproute2",
    "setpriv": "util-linux",
    "nsenter": "util-linux",
}
USEFUL_PROGRAMS = {
    "iperf3": "iperf3",
    "tcpdump": "tcpdump",
    "tshark": "tshark",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    "mnexec": "mininet",
}
TOOLS = ("comet-delay", "rttcp", "pktlogger", "timer-witness")
_VIRTUAL = "use --time virtual"
PACKAGES = ("click", "numpy", "pyarrow", "pydantic", "pyroute2", "rich")
LONG_FAT_BYTES = 2 * 10**9  # memory for data in flight at 10 Gbit/s × 498 ms, with the kernel's overhead


@dataclass(frozen=True)
class Check:
    """One finding. ``remedy``: what to do about it; empty when the state is ``ok``."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def _check(name: str, good: bool, detail: str, remedy: str, bad: State = "missing") -> Check:
    return Check(name, "ok", detail) if good else Check(name, bad, detail, remedy)


def privileges() -> Iterable[Check]:
    """Whether this user may build networks in real time: as root, or in a user namespace. Virtual time needs
    neither."""
    user = f"user id {unprivileged.user()}"
    if os.geteuid() == 0:
        inside = f", in namespaces of its own: without {unprivileged.LOST}" if unprivileged.is_inside() else ""
        yield Check("privileges", "ok", user + inside)
    elif why := unprivileged.obstacle():
        root = f"as root '{why.remedy}', or " if why.remedy else ""
        remedy = f"use --time virtual, which needs no privilege, or {root}run it as root"
        state: State = "missing" if kernel.missing() else "note"
        yield Check("privileges", state, f"{user}: no real time, for {why.what}", remedy)
    else:
        yield Check("privileges", "ok", f"{user}: real time in namespaces of its own, without {unprivileged.LOST}")


def kernel_features() -> Iterable[Check]:
    """Network namespaces, TAP devices, congestion controls and the profiles' sysctls."""
    yield from _networks()
    for name in profiles.names():
        profile = profiles.load(name)
        yield from _control(profile.congestion, "note")
        yield _profile(profile, "note")


def _networks() -> Iterable[Check]:
    for name, path, remedy in (
        ("network namespaces", "/proc/self/ns/net", "use a kernel with CONFIG_NET_NS"),
        ("TAP devices", "/dev/net/tun", "modprobe tun (kernel with CONFIG_TUN)"),
        ("IPv6", "/proc/sys/net/ipv6", "boot without ipv6.disable=1"),
    ):
        yield _check(name, Path(path).exists(), path, remedy)


def hosts(settings: Iterable[Scenario]) -> Iterable[Check]:
    """Checks that this kernel has what the hosts of these settings need in real time: profiles and congestion controls.
    Hosts that exist already are left out."""
    made = [setting for setting in settings if setting.topology.kind != "existing"]
    used = {profile.name: profile for profile in (profiles.of(setting.profile) for setting in made)}
    controls = {control.partition(":")[0] for setting in made for control in flows.controls(setting)}
    for profile in used.values():
        yield _profile(profile, "missing")
    for control in sorted(controls & ({profile.congestion for profile in used.values()} | congestion.virtual_only())):
        yield from _control(control, "missing")


def _control(name: str, bad: State) -> Iterable[Check]:
    if name in congestion.virtual_only():
        detail = "only the kernel of virtual time has it"
        yield Check(f"congestion control {name}", bad, detail, _VIRTUAL)
    elif not name.startswith(congestion.OURS):
        available = sysctls.sysctl_path("net.ipv4.tcp_available_congestion_control").read_text(encoding="ascii")
        there = name in available.split()
        yield _check(f"congestion control {name}", there, available.strip(), f"modprobe tcp_{name}", bad)


def _profile(profile: Profile, refused: State) -> Check:
    """``refused``: the state if this kernel refuses a value that the profile must have."""
    name, unknown = f"profile {profile.name}", sysctls.unknown_sysctls(profile)
    if why := _refused(profile):
        return Check(name, refused, why, _VIRTUAL)
    state: State = "ok"
    if unknown:
        state = "missing" if profile.required.intersection(unknown) else "note"
    detail = f"{len(profile.sysctls)} settings" + (f"; this kernel lacks {', '.join(unknown)}" if unknown else "")
    return Check(name, state, detail, "use a newer kernel" if unknown else "")


def _refused(profile: Profile) -> str:
    """The first required setting of the profile that this kernel refuses, with the values that it takes. Empty if it
    refuses none, or if this user may not try."""
    needed = {name: value for name, value in profile.sysctls.items() if name in profile.required}
    try:
        untaken = sysctls.untaken(needed)
    except OSError:  # another check reports it
        return ""
    release = f"Linux {platform.release()}"
    return next((f"{name} = {needed[name]}: {release} takes {taken}" for name, taken in untaken.items()), "")


def tools(names: Iterable[str] = TOOLS) -> Iterable[Check]:
    """The testbed's own C programs."""
    for name in names:
        try:
            yield Check(f"tool {name}", "ok", str(binaries.find(name)))
        except MissingError as error:
            detail, _, remedy = str(error).removeprefix(f"{name}: ").partition("; ")
            yield Check(f"tool {name}", "missing", detail, remedy)


def programs() -> Iterable[Check]:
    """Programs of the distribution."""
    for program, package in (NEEDED_PROGRAMS | USEFUL_PROGRAMS).items():
        path = shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
        bad: State = "missing" if program in NEEDED_PROGRAMS else "note"
        yield _check(f"program {program}", bool(path), path or "not found", f"apt-get install {package}", bad)


def namespaces() -> Iterable[Check]:
    """Tries to make the namespaces of one node, which a container or chroot may forbid."""
    if os.geteuid() != 0:
        return  # another check reports it
    why = ""
    try:
        netns.Holder().end()
    except OSError as error:
        why = str(error)
    remedy = "allow new network and mount namespaces here (in a chroot: mount --bind it onto itself first)"
    yield _check("namespace", not why, why or "a network namespace can be made", remedy)


def python_packages() -> Iterable[Check]:
    """Python packages of this environment."""
    for package in PACKAGES:
        there = importlib.util.find_spec(package) is not None
        yield _check(f"python {package}", there, "installed" if there else "not found", f"pip install {package}")
    for extra in extras.EXTRAS:
        module = extras.missing(extra)
        detail = "installed" if module is None else f"{module} not found"
        yield _check(f"extra {extra}", module is None, detail, extras.install(extra), "note")


def limits() -> Iterable[Check]:
    """Machine-wide limits. They matter on long fat pipes only, so their findings are notes."""
    page = os.sysconf("SC_PAGE_SIZE")
    path = sysctls.sysctl_path("net.ipv4.tcp_mem")
    pages = path.read_text(encoding="ascii").split()
    limit = int(pages[2]) * page
    low = limit < LONG_FAT_BYTES
    wanted = LONG_FAT_BYTES // page
    remedy = f"for 10 Gbit/s at 498 ms: sysctl -w net.ipv4.tcp_mem='{wanted // 2} {wanted * 3 // 4} {wanted}'"
    yield _check("TCP memory", not low, f"net.ipv4.tcp_mem allows {limit // 2**20} MB", remedy, "note")
    free = shutil.disk_usage(".").free
    yield _check("disk", free >= 2**30, f"{free // 2**20} MB free here", "make room for runs", "note")


def virtual_time() -> Iterable[Check]:
    """The kernel of ``--time virtual``. Nothing else needs it, so the finding is a note."""
    why = kernel.missing()
    yield _check("virtual time", why is None, why or str(kernel.path()), "lfp virtual --build", "note")


ALL: tuple[Callable[[], Iterable[Check]], ...] = (
    privileges,
    kernel_features,
    tools,
    programs,
    namespaces,
    python_packages,
    limits,
    virtual_time,
)


def everything() -> list[Check]:
    """The findings of all checks."""
    return [check for group in ALL for check in group()]


def require(
    tool_names: Iterable[str],
    useful: Iterable[str] = (),
    *,
    settings: Iterable[Scenario] = (),
    virtual: bool = False,
) -> None:
    """Checks the requirements of a run with these tools; MissingError with the first one that is missing. ``useful``:
    programs of USEFUL_PROGRAMS that this run needs. ``settings``: its trials'. For an ordinary user it raises
    `unprivileged.Outside` where a user namespace is enough. ``virtual``: in virtual time, where every trial has
    privileges and a kernel of its own."""
    needed = {f"program {name}" for name in useful} | {"privileges"}
    here: tuple[Iterable[Check], ...] = () if virtual else (privileges(), _networks(), hosts(settings), namespaces())
    for checks in (*here[:1], tools(tool_names), programs(), *here[1:]):
        for check in checks:
            if check.state == "missing" or (check.state == "note" and check.name in needed):
                raise MissingError(f"{check.name}: {check.detail}; {check.remedy} — 'lfp doctor' tells all")
    if not virtual and os.geteuid() != 0:
        raise unprivileged.Outside
