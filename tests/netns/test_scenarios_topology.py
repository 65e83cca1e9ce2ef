"""The network itself: options of routes, other shapes of the chain, Mininet's prompt, and a bench's two hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as parquet
import pytest
from lfp_process import Lfp, strays
from support.waiting import wait_until

from bench import two_hosts
from netcommon import netns
from netcommon.errors import MissingError
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.network import host_pair, links, sysctls
from scenarios.network.addresses import Route
from scenarios.plan import profiles
from scenarios.plan.model import ProfileTable

pytestmark = [pytest.mark.netns, pytest.mark.skipif(os.geteuid() != 0, reason="needs root")]

HOLD = ["unshare", "--net", "--", "sh", "-c", "echo ready; exec sleep infinity"]


def inside(pid: int, *command: str) -> str:
    """Output of a command in the namespace of ``pid``."""
    return subprocess.run(
        ["nsenter", "-t", str(pid), "-n", *command], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture
def namespace() -> Iterator[int]:
    with Tool(HOLD, json_lines=False) as holder:
        holder.wait_event("line", 10)
        yield holder.pid


def test_rto_min_is_locked_for_tcp_heeds_no_other(namespace: int) -> None:
    inside(namespace, "ip", "link", "add", "name", "left", "type", "veth", "peer", "name", "right")
    links.bring_up(namespace, "right", 1500)
    links.bring_up(namespace, "left", 1500, [("ipv4", "10.77.0.1")])
    route = [Route("ipv4", "10.77.9.0/24", "10.77.0.2")]
    links.set_routes(namespace, route, rto_min_ms=1000)
    assert "rto_min lock 1s" in inside(namespace, "ip", "route", "show", "10.77.9.0/24")
    links.set_routes(namespace, route)
    assert "rto_min" not in inside(namespace, "ip", "route", "show", "10.77.9.0/24")


@pytest.mark.parametrize("name", profiles.names())
def test_profiles_read_back_as_written(namespace: int, name: str) -> None:
    profile = profiles.load(name)
    try:
        back = sysctls.apply(profile, namespace)
    except MissingError as error:
        said = re.search(r"needs (\S+) = (\d+), which reads back as (\d+)", str(error))
        assert said, "a profile may fail only where this kernel refuses a setting that it needs"
        file = f"/proc/sys/{said[1].replace('.', '/')}"
        inside(namespace, "sh", "-c", f"echo {said[2]} >{file} || true")
        assert inside(namespace, "cat", file).strip() == said[3] != said[2]
        return
    differing = {key for key, value in profile.sysctls.items() if back.get(key) != value}
    unknown = set(sysctls.unknown_sysctls(profile))
    assert differing <= unknown | {"net.ipv4.tcp_congestion_control"}
    sack = inside(namespace, "cat", "/proc/sys/net/ipv4/tcp_sack").strip()
    assert sack == profile.sysctls.get("net.ipv4.tcp_sack", sack)  # profile as-it-is sets nothing


def test_a_setting_of_one_trial_does_not_stay_for_the_next(namespace: int) -> None:
    """The network is kept for all trials of a run. A sweep over profile.sysctl once left a value behind for "none"."""
    kernel_has = sysctls.read_sysctls(["net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_pacing_ss_ratio"])
    first: dict[str, str] = {}
    own = ProfileTable(name="record", sysctl="net.ipv4.tcp_notsent_lowat=131072")
    sysctls.apply(profiles.of(own), namespace, first)
    assert inside(namespace, "cat", "/proc/sys/net/ipv4/tcp_notsent_lowat").strip() == "131072"
    sysctls.apply(profiles.load("modern"), namespace, first)
    for name, value in kernel_has.items():
        assert inside(namespace, "cat", str(sysctls.sysctl_path(name))).strip() == value


def test_profile_linux_is_what_the_kernel_ships(namespace: int) -> None:
    """A fresh namespace has every value of the profile already, except for the buffers, which this machine may have
    changed, and keys that this kernel lacks."""
    shipped = {key: value for key, value in profiles.load("linux").sysctls.items() if not key.endswith("mem")}
    shipped.pop("net.ipv4.tcp_congestion_control")
    found = netns.call_in(namespace, sysctls.read_sysctls, shipped)
    assert found == {key: value for key, value in shipped.items() if key in found}


def test_other_chains_families_and_mtus(tmp_path: Path) -> None:
    scenario = tmp_path / "shapes.toml"
    scenario.write_text(
        '[scenario]\nname = "shapes"\n[path]\ndelay = "2ms"\nrouters = 4\n[transfer]\nbytes = "200KB"\n'
        'window = "64KB"\n'
        '[sweep]\n"path.mtu" = [1500, 9000]\n"transfer.family" = ["ipv4", "ipv6"]\n[run]\norder = "listed"\n'
    )
    lfp = Lfp("run", str(scenario), "--runs-dir", str(tmp_path / "runs"))
    status = lfp.finish()
    (run_dir,) = (tmp_path / "runs").iterdir()
    rows = parquet.read_table(run_dir / "results.parquet").to_pylist()
    assert [row["state"] for row in rows] == ["done"] * 4, lfp.err
    assert status == 0, lfp.err  # whether the trials are valid or not: the box may be late on a busy machine
    mss = [
        json.loads((run_dir / "trials" / f"{n:04d}" / "transfer.json").read_text())["sender"]["mss_bytes"]
        for n in range(4)
    ]
    timestamps = 12
    assert mss == [1500 - 40 - timestamps, 1500 - 60 - timestamps, 9000 - 40 - timestamps, 9000 - 60 - timestamps]


def test_mininets_prompt_on_the_running_path(tmp_path: Path) -> None:
    before = strays()
    lines = "snd ping -c 3 -i 0.2 10.77.2.2\nexit\n"
    done = subprocess.run(
        [sys.executable, "-m", "lfp", "run", "lfp-syndrome", "--cli"],
        input=lines,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert done.returncode == 0, done.stderr
    said = done.stderr  # where Mininet's prompt prints
    assert "3 received" in said
    least = float(said.partition("min/avg/max")[2].split("=")[1].split("/")[0])
    assert 8.4 <= least < 8.4 + 4
    wait_until(lambda: strays() <= before, "no strays")  # other runs may have some for a while
    assert not list(tmp_path.iterdir()), "measures nothing, writes nothing"


def test_benches_two_hosts_carry_a_stream_and_go(tmp_path: Path) -> None:
    load = two_hosts.Load(seconds=1, warm_up_s=0)
    with Ledger.open(tmp_path / "state") as ledger, host_pair.hosts(ledger) as pair:
        with host_pair.veth(pair, 1500):
            assert two_hosts.stream_bps(pair, load, ledger) > 1e8
        with two_hosts.box(pair, 1500, {"delay_ns": 1_000_000}, tmp_path, ledger) as box:
            assert two_hosts.stream_bps(pair, load, ledger) > 1e8
            assert two_hosts.non_model_drops(box) == 0
        pids = (pair.sender, pair.receiver)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the namespaces to go", 60)
    assert not list((tmp_path / "state").iterdir())
