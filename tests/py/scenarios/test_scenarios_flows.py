"""[flow.NAME], [pair.N] and [topology]: the flows of a setting, its network, its rows, and what a run keeps of them."""

from __future__ import annotations

import ipaddress
import itertools
import json
from pathlib import Path

import pytest

from netcommon.errors import UsageError
from scenarios.network import addresses
from scenarios.network.addresses import Family
from scenarios.network.graph import Graph, host_names
from scenarios.network.tcp_memory import TcpMemory
from scenarios.plan import cells, estimate, flows, params
from scenarios.plan.plan import Plan, load_plan
from scenarios.run import results
from scenarios.run.expectations import judge
from scenarios.run.manifest import replan
from scenarios.trial import transfer_tool, validity

MS = 10**6
BASE = """\
[scenario]
name = "flows"
[path]
delay = "10ms"
rate = "80Mbit"
[transfer]
duration = "10s"
window = "64KB"
"""
TWO = """\
[flow.late]
start = "4s"
[flow.other]
pair = 2
congestion = "reno"
bytes = "1MB"
[sweep]
"flow.other.congestion" = ["reno", "bbr"]
"transfer.window" = ["64KB", "128KB"]
"""
PRODUCTS = """\
[gateway]
kind = "lft"
[pair.2.gateway]
kind = "command"
near = "near $far"
far = "far $near"
[flow.shared]
pair = 3
[flow.own]
pair = 2
"""


def plan_of(tmp_path: Path, text: str, *overrides: str) -> Plan:
    file = tmp_path / "flows.toml"
    file.write_text(BASE + text)
    return load_plan(str(file), overrides=overrides, seed=1)


def test_a_flow_takes_from_transfer_what_it_leaves_out(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TWO)
    main, late, other = flows.of(plan.trials[1].setting)
    assert [one.name for one in (main, late, other)] == ["main", "late", "other"]
    assert (late.start_ns, late.pair, late.setting.transfer.duration) == (4 * 10**9, 1, 10 * 10**9)
    assert (other.setting.transfer.bytes, other.setting.transfer.duration) == (2**20, None), "its own amount replaces"
    assert {one.setting.transfer.window for one in (main, late, other)} == {128 << 10}, "swept for all three"
    swept = [flows.of(trial.setting)[2].setting.transfer.congestion for trial in plan.trials]
    assert swept == ["reno", "reno", "bbr", "bbr"]


def test_a_run_with_flows_is_planned_again_from_its_manifest(tmp_path: Path) -> None:
    for text in (TWO, PRODUCTS):
        plan = plan_of(tmp_path, text)
        echo = json.loads(json.dumps(plan.echo))
        again = replan({"scenario": echo, "seed": plan.seed})
        assert [params.rows(trial) for trial in again.trials] == [params.rows(trial) for trial in plan.trials]


def test_rows_that_differ_in_another_flow_are_no_repeats(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TWO, "run.repeat=2")
    rows = [row for trial in plan.trials for row in params.rows(trial)]
    found = cells.groups(rows, cells.telling(rows))
    assert len(found) == 4 * 3 and {len(own) for own in found.values()} == {2}
    assert rows[0]["beside"] == "cubic, pair 1, from 4s; reno, pair 2, bytes 1MB"


def test_set_reaches_a_flow_and_a_pair(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, TWO, "flow.late.start=1s,2s", "flow.other.duration=3s")
    assert {flows.of(trial.setting)[1].start_ns for trial in plan.trials} == {10**9, 2 * 10**9}
    other = flows.of(plan.trials[0].setting)[2].setting.transfer
    assert (other.duration, other.bytes) == (3 * 10**9, None), "a rival of --set replaces the flow's own amount"
    assert plan_of(tmp_path, PRODUCTS, "pair.2.gateway.model=proxy").trials[0].setting.pair["2"].gateway


def test_the_last_flow_says_how_long_a_trial_takes(tmp_path: Path) -> None:
    setting = plan_of(tmp_path, TWO).trials[0].setting
    assert estimate.transfer_s(setting) == 14.0
    assert estimate.moved_bytes(setting) <= 2 * 14.0 * 80e6 / 8


def walk(graph: Graph, family: Family, start: str, target: str) -> list[str]:
    """The nodes that a packet passes on its way to an address, by each node's routes."""
    address, node, passed = ipaddress.ip_address(target), start, [start]
    for _ in graph.nodes:
        own = [n for n in graph.at(node) if address in ipaddress.ip_network(addresses.network(family, n))]
        if own and graph.address(family, own[0], node) == target:
            return passed
        ways = [r.gateway for r in graph.routes(family, node) if address in ipaddress.ip_network(r.destination)]
        assert len(own) + len(ways) == 1, "one way"
        hop = target if own else ways[0]
        link = next(n for n in graph.at(node) if graph.address(family, n, graph.links[n].other(node)) == hop)
        node = graph.links[link].other(node)
        passed.append(node)
    raise AssertionError(f"{target} is not reached: {passed}")


SHAPES = {
    "chain": "",
    "pairs": "[flow.b]\npair = 3\n",
    "products": PRODUCTS,
    "own paths": '[pair.1.path]\nloss = "1%"\n[pair.2.path]\ndelay = "60ms"\n[flow.b]\npair = 3\n',
    "own path behind a gateway": PRODUCTS + '[pair.2.path]\ndelay = "60ms"\n',
    "own path in a lot": '[topology]\nkind = "parking-lot"\nhops = 3\n[flow.b]\npair = 4\n[pair.4.path]\nloss = "1%"\n',
    "parking": '[topology]\nkind = "parking-lot"\nhops = 3\n[flow.b]\npair = 4\n',
}


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_node_reaches_every_host(tmp_path: Path, family: Family, shape: str) -> None:
    graph = Graph.of(plan_of(tmp_path, SHAPES[shape]).trials[0].setting)
    hosts = [node for node in graph.nodes if graph.is_host(node)]
    assert len(hosts) == 2 * graph.pairs
    for start, goal in itertools.product(graph.nodes, hosts):
        way = walk(graph, family, start, graph.address(family, graph.at(goal)[0], goal))
        assert way[-1] == goal and len(set(way)) == len(way)
    names = [graph.interface(n, node) for n, link in enumerate(graph.links) for node in (link.left, link.right)]
    assert len(set(names)) == len(names) and max(map(len, names)) <= 15


def test_a_chain_keeps_its_addresses(tmp_path: Path) -> None:
    graph = Graph.of(plan_of(tmp_path, "", "path.routers=4").trials[0].setting)
    assert graph.nodes == ("snd", "r1", "r2", "r3", "r4", "rcv")
    assert walk(graph, "ipv4", "snd", "10.77.4.2") == list(graph.nodes)
    assert graph.hops == {1: 1} and graph.interface(1, "r1") == "r1-wan"


def test_pairs_share_a_gateway_or_have_their_own(tmp_path: Path) -> None:
    graph = Graph.of(plan_of(tmp_path, PRODUCTS).trials[0].setting)
    pairs = [host_names(pair) for pair in (1, 2, 3)]
    ways = [walk(graph, "ipv4", snd, graph.address("ipv4", graph.at(rcv)[0], rcv)) for snd, rcv in pairs]
    assert ways == [
        ["snd", "gw1", "r1", "r2", "gw2", "rcv"],
        ["snd2", "gw3", "r1", "r2", "gw4", "rcv2"],
        ["snd3", "gw1", "r1", "r2", "gw2", "rcv3"],
    ]
    assert graph.into_path() == ([("gw1", 1), ("gw3", 6)], [("gw2", 3), ("gw4", 7)])


def test_in_a_parking_lot_pair_1_crosses_all_and_the_others_one(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, SHAPES["parking"])
    graph = Graph.of(plan.trials[0].setting)
    crossed = []
    for snd, rcv in map(host_names, range(1, 5)):
        way = walk(graph, "ipv4", snd, graph.address("ipv4", graph.at(rcv)[0], rcv))
        links = [{link.left, link.right} for link in graph.links if link.hop]
        crossed.append([n + 1 for n, ends in enumerate(links) if ends <= set(way)])
    assert crossed == [[1, 2, 3], [1], [2], [3]]
    (trial,) = plan.trials
    assert params.of(trial)["rtt_ns"] == 60_000_000
    assert params.of_flow(trial, flows.of(trial.setting)[1])["rtt_ns"] == 20_000_000


def test_a_pair_has_a_path_of_its_own(tmp_path: Path) -> None:
    text = '[pair.2.path]\ndelay = "60ms"\nba_rate = "1Mbit"\n[flow.far]\npair = 2\n[flow.near]\n'
    (trial,) = plan_of(tmp_path, text, "path.delay=20ms", "path.granularity=1ms").trials
    main, far, near = (dict(row) for row in params.rows(trial))
    assert (main["rtt_ns"], far["rtt_ns"], near["rtt_ns"]) == (40 * MS, 160 * MS, 40 * MS)
    own = "delay=60ms ba_rate=1Mbit"
    assert (main["pair_path"], far["pair_path"], near["pair_path"]) == (None, own, None)
    assert main["beside"] == f"cubic, pair 2, {own}; cubic, pair 1"
    path = flows.own_path(trial.setting, 2)
    assert path and path.granularity == MS and path.direction("ba").rate_bps == 10**6
    graph = Graph.of(trial.setting)
    address = graph.address("ipv4", graph.at("rcv2")[0], "rcv2")
    assert walk(graph, "ipv4", "snd2", address) == ["snd2", "ar2", "r1", "r2", "rcv2"]
    assert [graph.pair_of(hop) for hop in sorted(graph.hops)] == [0, 2]
    swept = plan_of(tmp_path, text + '[sweep]\n"pair.2.path.delay" = ["1ms", "2ms"]\n')
    assert [params.rows(one)[1]["rtt_ns"] for one in swept.trials] == [22 * MS, 24 * MS]


def test_set_replaces_a_pairs_own_path_and_its_sweep_and_drops_the_claims(tmp_path: Path) -> None:
    text = '[pair.2.path]\ndelay = "60ms"\n[flow.far]\npair = 2\n[sweep]\n"pair.2.path.delay" = ["1ms", "2ms"]\n'
    text += '[[expect]]\nsay = "x"\nmin = "1Mbit"\n'
    assert len(plan_of(tmp_path, text).base.expect) == 1
    plan = plan_of(tmp_path, text, "pair.2.path.delay=5ms")
    assert [params.rows(one)[1]["rtt_ns"] for one in plan.trials] == [30 * MS]
    assert not plan.base.expect, "they belong to the path that they were written for"
    plan = plan_of(tmp_path, text, "pair.2.path.distance=1000km")
    assert [params.rows(one)[1]["rtt_ns"] for one in plan.trials] == [20 * MS + 2 * 4_761_905]


def test_ports_of_flows_never_meet() -> None:
    known = [port for number in range(32) for port in transfer_tool.ports(number)]
    assert len(set(known)) == 64 and transfer_tool.ports(0) == (5010, 5020)


def end(bps: float) -> dict[str, object]:
    receiver = {"t0_monotonic_ns": 5 * 10**9, "intervals": [[0, 10**9, int(bps / 8)]]}
    return {"summary": {"short_term_bps": bps, "bytes": 10**6, "elapsed_ns": 10**9}, "sender": {}, "receiver": receiver}


def test_a_trial_has_a_row_for_each_flow_with_its_share(tmp_path: Path) -> None:
    (trial,) = plan_of(tmp_path, PRODUCTS).trials
    others = [{"flow": one.number, **params.of_flow(trial, one)} for one in flows.of(trial.setting)[1:]]
    transfer = end(6e6) | {"flows": {"shared": end(3e6), "own": end(1e6)}}
    gateways = {"cpu_ns": 7, "pair": 1, "behind": {"1": 1, "3": 1, "2": 2}, "others": {"2": {"cpu_ns": 9}}}
    contents = {
        "params": params.of(trial),
        "flows": others,
        "transfer": transfer,
        "gateway": gateways,
        "status": {"state": "done", "verdict": {"valid": True, "reasons": []}},
    }
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    rows = results.rows(tmp_path)
    told = [(row["flow"], row["flow_name"], row["pair"]) for row in rows]
    assert told == [(0, "main", 1), (1, "shared", 3), (2, "own", 2)]
    assert [row["flow_share"] for row in rows] == pytest.approx([0.6, 0.3, 0.1])
    assert rows[0]["flow_jain"] == pytest.approx(100 / (3 * 46)) and rows[0]["flows_bps"] == pytest.approx(10e6)
    assert {row["flows_common_ns"] for row in rows} == {10**9}
    assert [row["cpu_gateways_ns"] for row in rows] == [7, 7, 9]
    assert [row["gateway"] for row in rows] == ["lft", "lft", "command"]
    assert rows[2]["gateway_recovery"] is None and rows[2]["gateway_near"] == "near $far"
    results.write(tmp_path, rows)


def test_an_expectation_means_the_main_flow_unless_it_names_another(tmp_path: Path) -> None:
    text = TWO + '[[expect]]\nsay = "main"\nmin = "2Mbit"\n'
    text += '[[expect]]\nsay = "late"\nwhere = {flow = "late"}\nmax = "1Mbit"\n'
    plan = plan_of(tmp_path, text)
    rates = {"main": 3e6, "late": 1e6, "other": 9e6}
    rows = [
        {**params.of(plan.trials[0]), "flow": n, "flow_name": name, "short_term_bps": rate, "valid": True}
        for n, (name, rate) in enumerate(rates.items())
    ]
    assert [one.met for one in judge(plan.base.expect, rows)] == [True, True]


def test_what_a_flow_objects_to_makes_the_trial_invalid() -> None:
    bad = {"summary": {"verdict": {"reasons": ["an octet is wrong"]}}}
    quiet = validity.Observation({}, {}, validity.CpuTimes(0, 0, 0), TcpMemory(short=False, times=0))
    late = {"verdict": {"valid": False, "reasons": ["ab: 3 packets dropped (memory)"]}}
    good = {"verdict": {"valid": True, "reasons": []}}
    found = validity.reasons(quiet, quiet, good | {"hops": [late]}, {}, {"flows": {"late": bad}})
    assert [one.text for one in found] == ["delay box: ab: 3 packets dropped (memory)", "flow late: an octet is wrong"]


def test_a_scenario_of_hosts_that_exist(tmp_path: Path) -> None:
    hosts = "".join(
        f'[pair.1.{end}]\n{where}\naddress = "192.0.2.{n}"\n'
        for n, (end, where) in enumerate((("sender", 'ssh = "lab@one"'), ("receiver", 'netns = "two"')), 1)
    )
    text = f'[topology]\nkind = "existing"\n{hosts}[profile]\nname = "as-it-is"\n'
    (trial,) = plan_of(tmp_path, text).trials
    assert trial.setting.topology.left is None
    with pytest.raises(UsageError, match="lfp does not change TCP settings of hosts that exist"):
        plan_of(tmp_path, text, "profile.name=modern")
