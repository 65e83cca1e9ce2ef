"""An address translator on the first router of the path, like a NAT whose public address changes in mid-connection."""

from __future__ import annotations

import os
import shutil
import subprocess

from netcommon.errors import EXIT_MISSING, LfpError
from netcommon.netns import namespace_path
from scenarios.network.topology import Topology
from scenarios.trial import gateways
from scenarios.trial.gateways import Site

_NFT_NAME = {"ipv4": "ip", "ipv6": "ip6"}
_TABLE = "lfp_rebound"


def rebind(net: Topology, site: Site) -> None:
    """From here on the router rewrites the source address of the near gateway's packets. LfpError of status 3 where the
    machine has no translator. The rewriting is stateless. Rejected: connection tracking, which keeps the old address
    for known connections."""
    wan, _ = net.wan_ports()
    near, ip = gateways.outer(net, site, "near"), _NFT_NAME[site.setting.transfer.family]
    out = f'oifname "{wan.name}" {ip} saddr {near} {ip} saddr set {near}01'
    back = f'iifname "{wan.name}" {ip} daddr {near}01 {ip} daddr set {near}'
    _nft(
        net,
        f"table {ip} {_TABLE} {{ chain out {{ type filter hook postrouting priority 100; {out}; }}\n"
        f"chain back {{ type filter hook prerouting priority -300; {back}; }}\n}}",
    )


def undo(net: Topology, site: Site) -> None:
    """Removes the translator."""
    _nft(net, f"delete table {_NFT_NAME[site.setting.transfer.family]} {_TABLE}")


def _nft(net: Topology, rules: str) -> None:
    if not (nft := shutil.which("nft", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")):
        missing = "this machine has no nft, which the translator is made of (Debian: nftables)"
        raise LfpError(missing, status=EXIT_MISSING)
    wan, _ = net.wan_ports()
    assert isinstance(wan.netns, int)
    inside = ["nsenter", f"--net={namespace_path(wan.netns)}", "--"]
    done = subprocess.run([*inside, nft, "-f", "-"], input=rules, text=True, capture_output=True, check=False)
    if done.returncode:
        raise LfpError(f"no address translator here: {done.stderr.strip()}", status=EXIT_MISSING)
