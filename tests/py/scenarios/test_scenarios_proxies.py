"""How clients reach a server through gateways of the model proxy (gateway.proxy): excluded combinations, and which tool
asks which proxy."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tiny_scenario import Tiny

from netcommon import binaries
from scenarios.network.topology import Topology
from scenarios.plan import flows, profiles
from scenarios.plan.model import Scenario
from scenarios.trial import gateways, transfer_tool

TINY = Tiny("""\
[path]
delay = "10ms"
rate = "8Mbit"
[transfer]
duration = "1s"
[gateway]
kind = "command"
model = "proxy"
proxy = "socks5"
near = "near $listen $proxy_port $ports"
far = "far"
""")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('model = "proxy"', 'model = "router"', "gateway.proxy = 'socks5': of model 'proxy' alone"),
        ('"socks5"', '"socks4"', "gateway.proxy = 'socks4'"),
        ('kind = "command"\nmodel = "proxy"\nproxy = "socks5"\nnear = "near $listen $proxy_port $ports"\nfar = "far"\n',
         'kind = "lft"\nmodel = "proxy"\nproxy = "transparent"\n', "lft's model \"router\""),
        ('duration = "1s"', 'duration = "1s"\ntool = "iperf3"', 'rttcp alone asks a proxy "socks5"'),
    ],
)  # fmt: skip
def test_what_is_impossible_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    TINY.refused(tmp_path, says, old, new)


@pytest.mark.parametrize("kind", ["ports", "socks5", "http", "transparent"])
def test_who_connects_where(tmp_path: Path, kind: str) -> None:
    setting = TINY.trial(tmp_path, '"socks5"', f'"{kind}"').setting
    net = Topology.of(setting)
    near, receiver = net.address_of("gw1", "left"), net.receiver_address()
    assert gateways.target(net, setting) == (near if kind == "ports" else receiver)
    port = {"socks5": 1080, "http": 3128}.get(kind)
    assert gateways.proxy_of(net, setting) == (f"{kind}://{near}:{port}" if port else None)


def test_the_sender_asks_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "find", lambda name: Path("/tools") / name)
    setting = TINY.trial(tmp_path, 'duration = "1s"', 'duration = "1s"\nshort = "20KB"\nsecond = "reno"').setting
    url = "socks5://10.0.0.9:1080"
    made = transfer_tool.commands(setting, profiles.load("modern"), "10.0.0.1", tmp_path, proxy=url)
    assert made.second and made.short
    for one in (made, made.second, made.short):
        assert one.sender[one.sender.index("--proxy") + 1] == url and "10.0.0.1" in one.sender


def flows_of(tmp_path: Path, proxy: str, pair: int) -> Scenario:
    more = f"[flow.other]\nparallel = 3\npair = {pair}\n"
    return TINY.trial(tmp_path, '"socks5"', f'"{proxy}"', more=more).setting


def test_flows_through_forwarded_ports_have_one_receiver(tmp_path: Path) -> None:
    assert len(flows.of(flows_of(tmp_path, "ports", 1))) == 2
    assert len(flows.of(flows_of(tmp_path, "socks5", 2))) == 2
    more = "[flow.other]\npair = 2\n"
    TINY.refused(
        tmp_path,
        "flow.other: a proxy of kind command forwards its ports to one receiver",
        '"socks5"',
        '"ports"',
        more=more,
    )
