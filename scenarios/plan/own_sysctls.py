"""The text of ``profile.sysctl``: sysctls that a scenario adds to its profile. One text can be swept, set on the
command line and be a column of the results, which a table cannot."""

from __future__ import annotations

import re

_NAME = re.compile(r"net\.(ipv4|ipv6|core|mptcp)(\.\w+)+", re.ASCII)


def parsed(text: str) -> dict[str, str]:
    """The sysctls of a text such as ``net.ipv4.tcp_wmem=4096 16384 262144; net.ipv4.tcp_ecn=1``; those of "none" are
    none. ValueError when it is no such text. Only names of a network namespace's own sysctls are taken."""
    if text == "none":
        return {}
    found: dict[str, str] = {}
    for part in text.split(";"):
        name, _, value = (" ".join(one.split()) for one in part.partition("="))
        if not _NAME.fullmatch(name) or not value:
            said = "" if len(text.split(";")) == 1 else f"'{part.strip()}': "
            raise ValueError(f"{said}want NAME=VALUE, several of them between semicolons, for example "
                             "'net.ipv4.tcp_wmem=4096 16384 262144; net.ipv4.tcp_ecn=1'")  # fmt: skip
        if name in found:
            raise ValueError(f"'{name}' is given twice; name each sysctl once")
        if name == "net.ipv4.tcp_congestion_control":
            raise ValueError(f"'{name}': the transfer tool asks for it at its socket; use transfer.congestion")
        found[name] = value
    return found
