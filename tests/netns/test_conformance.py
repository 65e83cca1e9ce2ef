"""`lfp conformance` on a small relay: the intended case finds each planted fault, with its evidence, and the relay
without a fault passes the same cases."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.virtual import virtual

pytestmark = [pytest.mark.netns, *virtual]

ROOT = Path(__file__).resolve().parents[2]
RELAY = Path(__file__).with_name("conformance_relay.py")
ASKED = Path(__file__).with_name("proxy_relay.py")
SCENARIO = """
[transfer]
bytes = "1MB"
[gateway]
kind = "command"
model = "proxy"
near = "python3 conformance_relay.py near $listen $far $ports{fault}"
far = "python3 conformance_relay.py far $far $receiver $ports{fault}"
"""
# The fault, the case that finds it, and words of its evidence.
PLANTED = {
    "stall": ("exchanges", "exchanges took longer than"),
    "last-words": ("last-words", "4096 octets are lost"),
    "handshake": ("mtu-1300", "listen at port"),
    "mtu-hang": ("mtu-shrinks", "hangs"),
    "bit": ("upload", "1 bit differs"),
    "slow": ("goodput", "less than 50 %"),
}
TIMEOUT_S = 280


def conformance(folder: Path, *arguments: str, fault: str = "") -> tuple[int, dict[str, tuple[str, str]]]:
    """Exit status, and result and line of each case."""
    (folder / RELAY.name).write_text(RELAY.read_text())
    (folder / "relay.toml").write_text(SCENARIO.format(fault=f" --fault {fault}" if fault else ""))
    argv = [sys.executable, "-m", "lfp", "conformance", str(folder / "relay.toml"), "--json", *arguments]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode in (0, 1), done.stderr
    cases = json.loads(done.stdout)["cases"]
    return done.returncode, {one["case"]: (one["result"], one["says"]) for one in cases}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found_with_its_evidence(tmp_path: Path, fault: str) -> None:
    case, evidence = PLANTED[fault]
    status, found = conformance(tmp_path, "--only", case, fault=fault)
    result, says = found[case]
    assert (status, result) == (1, "fails") and evidence in says, says


def test_nothing_is_found_in_the_sane_relay(tmp_path: Path) -> None:
    """Runs the cases that find the faults, and those that demand most of a relay."""
    wanted = [case for case, _ in PLANTED.values()]
    wanted += ["half-close-*", "reset-*", "refused", "silent", "early-data", "kill-far", "outage-10s", "descriptors"]
    status, found = conformance(tmp_path, *(word for case in wanted for word in ("--only", case)))
    assert not [(case, says) for case, (result, says) in found.items() if result != "passes"]
    assert status == 0 and len(found) == len(PLANTED) + 10


@pytest.mark.parametrize("proxy", ["socks5", "http", "transparent"])
def test_clients_ask_the_proxy_that_the_scenario_has(tmp_path: Path, proxy: str) -> None:
    (tmp_path / ASKED.name).write_text(ASKED.read_text())
    near, far = f'near = "python3 {ASKED.name} {proxy} $listen $proxy_port"', 'far = "sleep infinity"'
    text = SCENARIO[: SCENARIO.index("near =")] + f'proxy = "{proxy}"\n{near}\n{far}\n'
    (tmp_path / "asked.toml").write_text(text)
    argv = [sys.executable, "-m", "lfp", "conformance", str(tmp_path / "asked.toml"), "--only", "both-ways", "--only",
            "half-close-*", "--only", "refused", "--only", "early-data"]  # fmt: skip
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0 and "5 pass" in done.stdout, done.stdout + done.stderr


def test_connections_through_lft_outlast_an_outage() -> None:
    """As a direct connection does."""
    argv = [sys.executable, "-m", "lfp", "conformance", "examples/gateways/lft.toml", "--only", "outage-60s"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stdout


def test_a_gateway_that_dies_is_named(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text("import time; time.sleep(2); print('out of licences'); raise SystemExit(7)\n")
    (tmp_path / "dies.toml").write_text(SCENARIO.format(fault="").replace("conformance_relay.py", "dies.py"))
    argv = [sys.executable, "-m", "lfp", "conformance", str(tmp_path / "dies.toml"), "--only", "upload"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 1 and "1 fails" in done.stdout, done.stderr
    assert "out of licences" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "uplaod"], "--only uplaod: no such case"),
        (["--output", "table.pdf"], "--output table.pdf: unknown ending; want .json, .md, .txt"),
        ([], "name a scenario"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    scenario = [] if not arguments else ["gateways"]
    argv = [sys.executable, "-m", "lfp", "conformance", *scenario, *arguments]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
