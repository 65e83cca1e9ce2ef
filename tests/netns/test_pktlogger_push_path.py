"""`pktlogger push` and `pktlogger sink` in namespaces: the sink reports what the path did."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import push_measures as measure
import pytest
from comet_box import in_netns, two_hosts

from netcommon.binaries import find

CAPTURES = Path(__file__).resolve().parents[1] / "captures"

pytestmark = pytest.mark.netns


def test_losses_duplicates_and_reordering_are_the_boxes(tmp_path: Path) -> None:
    path = {"ab_loss": "2%", "ab_duplicate": "1%", "ab_reorder": "1%", "ab_reorder-by": "3ms", "ab_delay": "5ms"}
    push = ["--pps", "5000", "--packets", "10000", "--flows", "4", "--size", "128"]
    ends = measure.pushed(path=path, push=push, sink=[])
    sent, received, box = ends["push"], ends["sink"], ends["box"]
    assert sent["packets"] == 10000 and received["flows_n"] == 4 and received["socket_drops"] == 0
    ends_sent = 4 * 3  # messages that tell the sink how many packets were sent; the box may lose some of them
    assert 0 <= box["drops"]["loss"] - received["lost"] <= ends_sent
    assert 0 <= box["duplicated"] - received["duplicates"] <= ends_sent
    assert received["received"] + received["lost"] == 10000
    assert 0 < received["reordered"] <= box["reordered"]
    # The box dates arrivals back by 300 µs at most (worker.c). test_pktlogger_push_exact.py has the delay exactly.
    assert received["extent_max"] > 0 and received["delay_min_ns"] >= 4_700_000
    assert sum(flow["lost"] for flow in received["flows"]) == received["lost"]


@pytest.mark.parametrize("address", ["4", "6"])
def test_packets_shaped_like_tcp_arrive(tmp_path: Path, address: str) -> None:
    with two_hosts() as hosts:
        listen = ["ip", "netns", "exec", hosts.left, str(find("pktlogger")), "sink", "--json", "--protocol", "tcp"]
        with subprocess.Popen(listen, stdout=subprocess.PIPE, text=True) as sink:
            assert sink.stdout and json.loads(sink.stdout.readline())["event"] == "ready"
            with measure.capturing(hosts.left, "lo", tmp_path / "lo.pcapng"):
                in_netns(hosts.left, str(find("pktlogger")), "push", "::1" if address == "6" else "127.0.0.1",
                         "--protocol", "tcp", "--flows", "3", "--packets", "600", "--pps", "2000")  # fmt: skip
            out, _ = sink.communicate(timeout=60)
    received = json.loads(out.splitlines()[-1])
    assert (received["received"], received["lost"], received["flows_n"], received["ended"]) == (600, 0, 3, True)
    shaped = [
        "-Y",
        "tcp.dstport == 5003 && tcp.len > 0",
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
    ]
    fields = ["-T", "fields", "-e", "tcp.checksum.status", "-e", "tcp.stream", "-e", "tcp.analysis.lost_segment"]
    done = subprocess.run(["tshark", "-r", tmp_path / "lo.pcapng", *shaped, *fields], capture_output=True, text=True)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(lines) == 600 + 3 * 3 and len({line[1] for line in lines}) == 3
    assert {line[0] for line in lines} == {"1"}, "checksums are right"
    assert not any(line[2] for line in lines), "sequence numbers go on"


def test_a_replay_sends_every_frame_again(tmp_path: Path) -> None:
    lengths = [100 + i for i in range(200)] + [40_000]  # the last one is a super-packet
    capture = measure.write_capture(tmp_path / "c.pcap", range(10**18, 10**18 + 201 * 500_000, 500_000), lengths)
    result = measure.replayed(str(capture), spin="100us")
    assert result["got"] == result["sent"][:-1]
    assert (result["push"]["packets"], result["push"]["skipped"], result["push"]["padded"]) == (200, 1, 201)
    assert result["push"]["bytes"] == sum(lengths[:-1])


def test_super_packets_are_counted_as_skipped(tmp_path: Path) -> None:
    result = measure.replayed(str(CAPTURES / "21-super.pcap"), spin="100us")["push"]
    assert (result["packets"], result["bytes"], result["skipped"]) == (10, 1464, 2)


def test_a_replay_into_an_interface_without_ethernet_is_refused() -> None:
    capture = CAPTURES / "21-super.pcap"
    line = f"ip tuntap add t0 mode tun && ip link set t0 up && exec {find('pktlogger')} push --replay {capture} -i t0"
    done = subprocess.run(["unshare", "--net", "sh", "-c", line], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "--interface 't0': has no Ethernet header" in done.stdout + done.stderr


@pytest.mark.parametrize("interface", ["lo", "any"])
def test_no_data_keeps_no_payload_behind_two_tags(interface: str, tmp_path: Path) -> None:
    secret, kept, tool = CAPTURES / "17-secret-qinq.pcap", tmp_path / "kept.pcapng", find("pktlogger")
    assert b"PASSWORD" in secret.read_bytes()
    line = (
        f"ip link set lo up; {tool} capture --json -i {interface} -w {kept} --no-data --duration 2s > {tmp_path}/s & "
        f"until grep -q ready {tmp_path}/s; do sleep 0.05; done; {tool} push --replay {secret} -i lo --pps 1000; wait"
    )
    done = subprocess.run(["unshare", "--net", "sh", "-c", line], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    found = subprocess.run([tool, "index", kept, "-o", tmp_path / "i"], capture_output=True, text=True, timeout=30)
    assert json.loads(found.stdout)["packets"] > 0, found.stdout
    assert b"PASSWORD" not in kept.read_bytes()


def test_a_cut_capture_is_sent_up_to_the_cut(tmp_path: Path) -> None:
    capture = measure.write_capture(tmp_path / "c.pcap", range(10**18, 10**18 + 3_000, 1_000), [100] * 3)
    Path(capture).write_bytes(Path(capture).read_bytes()[:-7])
    argv = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    argv += [str(find("pktlogger")), "push", "--json", "--replay", str(capture), "-i", "lo"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert json.loads(done.stdout.splitlines()[-1])["packets"] == 2
    assert done.stderr == f"pktlogger: '{capture}': ends inside a packet; all before it is sent\n"


def test_a_discipline_without_times_is_refused() -> None:
    with two_hosts() as hosts:
        argv = ["ip", "netns", "exec", hosts.left, str(find("pktlogger")), "push", "127.0.0.1", "--txtime", "-c", "1"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "--txtime: 'lo' has the queueing discipline noqueue" in done.stderr
