"""`comet-delay watch` and `comet-delay metrics`: a running box seen by people, programs and Prometheus."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from typing import Any

import pytest
from comet_box import RIGHT, Box, in_netns, introduce, two_hosts
from prometheus_client.parser import text_string_to_metric_families

from comet_delay import Control
from netcommon.binaries import find
from netcommon.options import options

pytestmark = pytest.mark.netns

PINGS = 50


def client(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(find("comet-delay")), *arguments], capture_output=True, text=True, timeout=20)


def test_intervals_add_up_to_what_crossed() -> None:
    with two_hosts() as hosts, Box(hosts) as box:
        in_netns(hosts.left, "ping", "-c", "1", RIGHT)  # address resolution would be lost as well
        with Control(box.socket) as control:
            control.set(ab_loss="20%")
            before = control.show()["statistics"]["ab"]
        argv = [str(find("comet-delay")), "watch", "--control", str(box.socket), "--interval", "100ms"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
            assert watcher.stdout
            lines = [json.loads(watcher.stdout.readline())]  # `watch` has taken its first sample before this line
            subprocess.run(
                ["ip", "netns", "exec", hosts.left, "ping", "-c", str(PINGS), "-i", "0.005", "-W", "1", RIGHT],
                capture_output=True,
                timeout=20,
            )
            crossed = box.show()["uptime_ns"]
            while lines[-1]["uptime_ns"] < crossed:
                lines.append(json.loads(watcher.stdout.readline()))
            watcher.send_signal(signal.SIGINT)
            lines += [json.loads(line) for line in watcher.stdout]
            assert watcher.wait(timeout=30) == 0
        after = box.show()["statistics"]["ab"]
    assert lines[-1] == {"v": 1, "event": "end", "intervals": len(lines) - 1, "gone": False}
    intervals = [line["ab"] for line in lines[:-1]]
    assert PINGS <= sum(i["in_packets"] for i in intervals) <= after["in_packets"]
    lost = sum(i["drops"]["loss"] for i in intervals)
    assert 0 < lost <= after["drops"]["loss"] - before["drops"]["loss"] + 1
    assert all(i["lateness"]["count"] == i["out_packets"] for i in intervals)
    for line in lines[:-1]:
        assert line["event"] == "interval" and line["interval_ns"] > 0
        seconds = line["interval_ns"] / 1e9
        assert line["ab"]["in_packets_per_s"] == pytest.approx(line["ab"]["in_packets"] / seconds, abs=1)
        assert line["ab"]["out_bps"] == pytest.approx(line["ab"]["out_bytes"] * 8 / seconds, abs=1)


def test_show_and_watch_say_what_was_achieved_beside_what_was_asked_for() -> None:
    with two_hosts() as hosts, Box(hosts, delay="5ms", jitter="normal:500us", ab_rate="10Mbit", ab_loss="20%") as box:
        introduce(hosts)  # after a lost ARP request the host drops some pings
        in_netns(hosts.left, "sh", "-c", f"ping -c 200 -i 0.002 -W 1 {RIGHT} || true")
        shown = box.show()["statistics"]["ab"]
        achieved = shown["achieved"]
        text = client("show", "--control", str(box.socket), "--human").stdout
        line = json.loads(
            client("watch", "--control", str(box.socket), "--count", "1", "--json").stdout.splitlines()[0]
        )
    assert achieved["rate"]["bps"] == pytest.approx(10e6, rel=1e-4)
    assert achieved["loss"]["packets"] == shown["in_packets"] >= 200
    assert achieved["loss"]["lost"] == shown["drops"]["loss"] and 0.05e9 < achieved["loss"]["ratio_ppb"] < 0.4e9
    for kind in ("drawn", "added"):
        assert achieved["jitter"][kind]["count"] == achieved["loss"]["packets"] - achieved["loss"]["lost"]
        assert achieved["jitter"][kind]["sd_ns"] == pytest.approx(
            500_000, rel=0.35
        )  # 150 packets: 3.89 deviations are 22 %
    assert "(of 10Mbit)" in text and "(of 20%)" in text and "(of normal:500us)" in text
    assert (
        line["ab"]["achieved"]["loss"]["packets"] < 10
        and line["ab"]["achieved"]["jitter"]["drawn"]["count"] >= achieved["jitter"]["drawn"]["count"]
    )


def test_text_has_one_block_an_interval() -> None:
    with two_hosts() as hosts, Box(hosts, delay="1ms") as box:
        in_netns(hosts.left, "ping", "-c", "1", RIGHT)
        arguments = ("watch", "--control", str(box.socket), "--interval", "50ms", "--count", "3", "--human")
        done = client(*arguments)
    assert done.returncode == 0, done.stderr
    blocks = done.stdout.split("\n\n")
    assert len(blocks) == 3
    assert all(re.match(r"comet-delay up [\d.]+ s, interval [\d.]+ s", block) for block in blocks)
    assert all("\na to b " in block and "\nb to a " in block and "drops none" in block for block in blocks)
    assert "\033" not in done.stdout


def test_on_a_terminal_it_draws_over_what_it_drew() -> None:
    with two_hosts() as hosts, Box(hosts) as box:
        ours, theirs = pty.openpty()
        argv = [str(find("comet-delay")), "watch", "--control", str(box.socket), "--interval", "50ms", "--count", "2"]
        watcher = subprocess.Popen(argv, stdout=theirs)
        os.close(theirs)
        text = ""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and select.select([ours], [], [], 30)[0]:
            try:
                text += os.read(ours, 65536).decode()
            except OSError:  # EIO: the other side has closed
                break
        os.close(ours)
        assert watcher.wait(timeout=30) == 0
    first, _, second = text.partition("\033[8A\r\033[J")
    assert first.count("\n") == second.count("\n") == 8, "it goes back up by as many lines as a block has"
    assert "comet-delay up" in first and "comet-delay up" in second


def test_it_ends_with_the_box() -> None:
    with two_hosts() as hosts, Box(hosts) as box:
        argv = [str(find("comet-delay")), "watch", "--control", str(box.socket), "--interval", "50ms"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
            assert watcher.stdout
            watcher.stdout.readline()
            box.stop()
            out, err = watcher.communicate(timeout=30)
            assert watcher.returncode == 0
    assert json.loads(out.splitlines()[-1])["gone"] is True
    assert "the box has gone" in err and len(err.splitlines()) == 1


def metrics_at_rest(box: Box) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The metrics, and the state at the same moment: no packet came in or went out while both were asked for."""
    for _ in range(100):
        before, done, after = box.show(), client("metrics", "--control", str(box.socket)), box.show()
        if packets_of(before) == packets_of(after):
            return done, after
        time.sleep(0.1)
    raise AssertionError("the box counts packets for 10 s after its sender's interface went down")


def packets_of(state: dict[str, Any]) -> list[int]:
    ways = state["statistics"]
    return [ways[way][name] for way in ("ab", "ba") for name in ("in_packets", "out_packets")]


def test_metrics_are_what_show_says_and_prometheus_can_read_them() -> None:
    with two_hosts() as hosts, Box(hosts, delay="2ms", ab_rate="45Mbit", ab_loss="10%") as box:
        in_netns(hosts.left, "sh", "-c", f"ping -c {PINGS} -i 0.002 -W 1 {RIGHT} || true")
        in_netns(hosts.left, "ip", "link", "set", "wan", "down")
        done, state = metrics_at_rest(box)
    assert done.returncode == 0, done.stderr
    families = {family.name: family for family in text_string_to_metric_families(done.stdout)}
    samples = {(s.name, *sorted(s.labels.items())): s.value for family in families.values() for s in family.samples}
    for way in ("ab", "ba"):
        direction, statistics = ("direction", way), state["statistics"][way]
        for key in ("in_packets", "in_bytes", "in_frames", "out_packets", "out_bytes", "out_frames"):
            assert samples[f"comet_delay_{key}_total", direction] == statistics[key]
        achieved = statistics["achieved"]
        for stage, key in (("before", "loss"), ("after", "loss_after")):
            for name, count in (("offered", "packets"), ("lost", "lost"), ("bursts", "bursts")):
                series = (f"comet_delay_loss_{name}_total", direction, ("stage", stage))
                assert samples[series] == achieved[key][count], series
        assert samples["comet_delay_line_bytes_total", direction] == achieved["rate"]["bytes"]
        assert samples["comet_delay_jitter_packets_total", direction] == 0 and achieved["jitter"] is None
        for cause, count in statistics["drops"].items():
            assert samples["comet_delay_drops_total", ("cause", cause), direction] == count
        assert samples["comet_delay_lateness_seconds_count", direction] == statistics["out_packets"]
        sum_s, late = samples["comet_delay_lateness_seconds_sum", direction], statistics["lateness"]
        assert sum_s == pytest.approx(late["sum_ns"] / 1e9, abs=1e-9)
        assert sum_s <= late["count"] * late["max_ns"] / 1e9
        buckets = [
            s
            for s in families["comet_delay_lateness_seconds"].samples
            if s.name.endswith("_bucket") and s.labels["direction"] == way
        ]
        assert [s.value for s in buckets] == sorted(s.value for s in buckets)
        assert buckets[-1].labels["le"] == "+Inf" and buckets[-1].value == statistics["out_packets"]
    assert samples["comet_delay_drops_total", ("cause", "loss"), ("direction", "ab")] > 0
    assert samples["comet_delay_parameter_rate_bits_per_second", ("direction", "ab")] == 45e6
    assert samples["comet_delay_parameter_delay_seconds", ("direction", "ba")] == pytest.approx(0.002)
    assert families["comet_delay_lateness_seconds"].type == "histogram"
    assert families["comet_delay_in_packets"].type == "counter"
    assert all(family.documentation for family in families.values())
    assert len(re.findall(r"^# TYPE ", done.stdout, re.M)) == len(families), "a family is announced once"


@pytest.mark.parametrize("verb", ["run", "show", "set", "watch", "metrics"])
def test_every_verb_lists_its_options(verb: str) -> None:
    assert "control" in options("comet-delay", verb)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["watch"], 2, "--control: missing"),
        (["metrics"], 2, "--control: missing"),
        (["watch", "--control", "/no/such/socket"], 1, "is comet-delay running there?"),
        (["metrics", "--control", "/no/such/socket"], 1, "is comet-delay running there?"),
        (["watch", "--control", "/x", "--interval", "1us"], 2, "allowed is 10ms to"),
        (["watch", "--control", "/x", "now"], 2, "'now': watch takes no arguments"),
    ],
)
def test_wrong_input_gives_one_line_and_the_right_status(arguments: list[str], status: int, says: str) -> None:
    done = client(*arguments)
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
