"""Running tools as the dashboard sees them: samples, sockets that come and go, and changes that a page asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.ports import free_port
from support.pressed import pressed, said
from support.pretended import PretendedBox, PretendedGateway, pretended
from support.waiting import wait_until

from dashboard.live import box, box_page, gateway, live, watcher
from dashboard.live.figure import live_figure
from dashboard.live.gateway_page import changed, ended
from dashboard.live.recent import Recent, Sample
from dashboard.live.texts import box_line, box_table, gateway_facts, gateway_line, numbers_table
from dashboard.server.app import Runs, make_app, page_at
from dashboard.server.auth import refuse_other_sites
from lft_ref import Control, Gateway, Settings, write_key
from netcommon.errors import LfpError

SETTING = {setting.name: setting for setting in gateway.SETTINGS}


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Polls follow one another at once, so that no test waits for a second."""
    monkeypatch.setattr(watcher, "PERIOD_S", 0.01)


@dataclass(frozen=True)
class Tool:
    """A tool with one counter."""

    uptime_ns: int
    amount: int

    @property
    def counters(self) -> dict[str, int]:
        return {"amount": self.amount}


def taken(*looks: tuple[float, Tool | None]) -> list[dict[str, float]]:
    """The rates after these looks."""
    recent = Recent()
    for at_s, state in looks:
        recent.take(at_s, state)
    return [dict(sample.per_s) for sample in recent.samples()]


def test_a_rate_is_growth_over_the_tools_own_time() -> None:
    """The dashboard got the second answer late; the tool says that 2 s had passed."""
    assert taken((0, Tool(10**9, 100)), (9, Tool(3 * 10**9, 700))) == [{}, {"amount": 300.0}]


@pytest.mark.parametrize("again", [Tool(1, 900), Tool(5 * 10**9, 50)], ids=["uptime", "counter"])
def test_a_tool_that_began_anew_gives_a_gap_and_no_rate(again: Tool) -> None:
    assert taken((0, Tool(10**9, 100)), (1, again)) == [{}, {}]


def test_without_an_answer_there_is_a_gap() -> None:
    assert taken((0, Tool(1, 1)), (1, None), (2, Tool(3, 3)), (3, Tool(5, 5)))[1:] == [{}, {}, {"amount": 1e9}]


def test_ten_minutes_are_kept() -> None:
    recent = Recent()
    for second in range(1000):
        recent.take(second, Tool(second + 1, second))
    assert [sample.at_s for sample in recent.samples()] == list(range(399, 1000))


def test_the_plot_has_gaps_and_units_and_can_be_empty() -> None:
    lines = {"in": "into it", "out": "out of it"}
    assert all(len(trace["x"]) == 0 for trace in live_figure([Sample(1, {})], 2, lines, "Rate")["data"])
    samples = [Sample(1, {}), Sample(2, {"in": 12_500_000, "out": 0}), Sample(3, {}), Sample(4, {"in": 125, "out": 0})]
    figure = live_figure(samples, 5, lines, "Rate")
    first = figure["data"][0]
    assert list(first["x"]) == [-3, -2, -1] and figure["layout"]["yaxis"]["title"]["text"] == "Rate (Mbit/s)"
    assert [None if y != y else y for y in first["y"]] == [100, None, 0.001]
    assert first["text"] == ["100 Mbit/s, 3 s ago", "–, 2 s ago", "1 kbit/s, 1 s ago"]


@pytest.fixture
def socket(tmp_path: Path) -> Path:
    return tmp_path / "control"


@pytest.fixture
def shown(socket: Path) -> Iterator[live.Live]:
    """Watches a gateway's socket that does not exist at first."""
    watched = live.watch(socket)
    yield watched
    watched.close()


def test_a_socket_that_is_gone_is_said_and_the_watch_goes_on_by_itself(shown: live.Live, socket: Path) -> None:
    assert shown.gateway
    seen = shown.gateway.seen
    wait_until(lambda: "is lft-gateway running there?" in seen().error, "the reason")
    assert "is lft-gateway running there?" in str(page_at(Runs(socket.parent), "/gateway", "", shown))
    for _ in range(2):  # the second time, too
        with pretended(socket, PretendedGateway().answer):
            wait_until(lambda: seen().per_s("bytes_in"), "a rate")
            facts = dict(gateway_facts(seen()))
            assert facts["Peer"] == "192.0.2.1:2004" and facts["Rate limit"] == "800 Mbit/s"
            assert facts["From hosts into the gateway"] == "100 Mbit/s"
            assert facts["From the gateway to hosts"] == "10 Mbit/s" and facts["Limit towards hosts"] == "none"
            assert facts["RTT of the tunnel"] == "200 ms" and facts["Loss in the last 1000 frames"] == "0.01 %"
        wait_until(lambda: "is lft-gateway running there?" in seen().error, "the end")
        assert seen().state is None and gateway_facts(seen()) == []


def test_the_socket_of_another_tool_is_said(shown: live.Live, socket: Path) -> None:
    assert shown.gateway
    seen = shown.gateway.seen
    with pretended(socket, lambda _: {"v": 1, "ok": True, "statistics": {}}):
        wait_until(lambda: "give the control socket of lft-gateway" in seen().error, "the reason")


def test_another_gateway_with_the_same_key_is_said() -> None:
    answer = PretendedGateway().state
    quiet, answer["tunnel"]["contention"] = gateway.read(answer), "another gateway asks for this tunnel"
    assert gateway_line(watcher.Seen(quiet, "", (), 0)) == "The tunnel is up. New connections go through it."
    said_of_it = gateway_line(watcher.Seen(gateway.read(answer), "", (), 0))
    assert said_of_it == "The tunnel is up. Another gateway asks for this tunnel. New connections go through it."


def test_every_number_of_an_answer_has_its_name_and_unit() -> None:
    table = numbers_table(gateway.read(PretendedGateway().answer({"op": "show"})).numbers)
    rows = {row[0]: row[1] for row in table.rows}
    assert rows["relay.bytes_in"] == "11.92 MB" and rows["tunnel.handshake.sent"] == "1"
    assert rows["engine.sent.data.wire_bytes"] == "7500 B" and rows["tunnel.rx_datagrams"] == "1.235 M"
    assert "v" not in rows and "tunnel.mtu_search" not in rows


@pytest.mark.parametrize(
    ("name", "value", "text", "said"),
    [
        ("rate", 250, "250Mbit", "Rate limit is now 250 Mbit/s."),
        ("rate", 0, "0Mbit", "Rate limit is now none."),
        ("host-rate", 5, "5Mbit", "Limit towards hosts is now 5 Mbit/s."),
        ("rate-mode", "auto", "auto", "Rate mode is now auto."),
        ("redundancy", "off", "off", "Redundant copies is now off."),
        ("bypass", "on", "on", "Bypass is now on."),
    ],
)
def test_a_setting_reaches_the_socket_as_its_text(
    shown: live.Live, socket: Path, name: str, value: object, text: str, said: str
) -> None:
    pretending = PretendedGateway()
    with pretended(socket, pretending.answer):
        assert shown.gateway and changed(shown.gateway, SETTING[name], value) == said
    assert {"op": "set", "values": {name: text}} in pretending.asked


@pytest.mark.parametrize(("name", "value"), [("rate", None), ("rate", True), ("rate", "5"), ("bypass", "perhaps")])
def test_a_value_that_the_page_does_not_offer_is_not_sent(
    shown: live.Live, socket: Path, name: str, value: object
) -> None:
    pretending = PretendedGateway()
    with pretended(socket, pretending.answer):
        assert shown.gateway and changed(shown.gateway, SETTING[name], value).startswith(f"{name}: ")
    assert all(request["op"] == "show" for request in pretending.asked)


INPUTS = {f"gateway-set-{name}": "n_clicks" for name in SETTING} | {
    f"gateway-{name}": "n_submit" for name in ("rate", "host-rate")
}


def set_rate(shown: live.Live, runs_dir: Path, mbit: float, *, read_only: bool = False, **headers: str) -> Any:
    """Presses the button next to the rate limit."""
    server = make_app(runs_dir, read_only=read_only, live=shown).server
    refuse_other_sites(server, "127.0.0.1")
    fields: dict[str, object] = {
        "gateway-rate": mbit,
        "gateway-host-rate": 0,
        "gateway-rate-mode": "fixed",
        "gateway-redundancy": "on",
        "gateway-bypass": "auto",
    }
    return pressed(server, "gateway-said.children", INPUTS, fields, "gateway-set-rate", **headers)


def told(answer: Any) -> str:
    return said(answer, "gateway-said")


def test_only_the_own_site_changes_a_gateway_and_not_with_read_only(shown: live.Live, socket: Path) -> None:
    pretending = PretendedGateway()
    with pretended(socket, pretending.answer):
        assert set_rate(shown, socket.parent, 5, Origin="http://evil.example").status_code == 403
        assert "read-only" in told(set_rate(shown, socket.parent, 5, read_only=True, Origin="http://localhost"))
        assert shown.gateway and "read-only" in ended(shown.gateway, None, read_only=True)
        assert all(request["op"] == "show" for request in pretending.asked)
        assert "now 5 Mbit/s" in told(set_rate(shown, socket.parent, 5, Origin="http://localhost"))
    page = str(page_at(Runs(socket.parent, True), "/gateway", "", shown))
    assert "gateway-set-rate" not in page and "gateway-stop" not in page


@pytest.fixture
def shown_box(socket: Path) -> Iterator[live.Live]:
    """Watches a delay box's socket that does not exist at first."""
    watched = live.watch(None, socket)
    yield watched
    watched.close()


def test_both_directions_of_a_box_stand_side_by_side(shown_box: live.Live, socket: Path) -> None:
    assert shown_box.box
    seen = shown_box.box.seen
    pretending = PretendedBox()
    with pretended(socket, pretending.answer):
        wait_until(lambda: seen().per_s("ab.out_bytes"), "a rate")
        rows = {row[0]: row[1:] for row in box_table(seen()).rows}
        assert rows["Leaves"] == ("45 Mbit/s", "1 Mbit/s") and rows["Comes in"] == ("0 bit/s", "0 bit/s")
        assert rows["Queue now"] == ("60 KB", "60 KB") and rows["Lateness, p99 since the start"][0] == "42 µs"
        assert rows["Packets dropped: receive ring"] == ("0", "0") and rows["Packets dropped: loss"][0] == "12.35 k"
        assert rows["Delay"] == ("4.2 ms", "4.2 ms") and rows["Loss"] == ("0%", "0%")
        pretending.state["verdict"] = {"valid": False, "reasons": ["ab: p99 lateness 42 ms (limit 1 ms)"]}
        wait_until(lambda: "p99 lateness 42 ms" in box_line(seen()), "the verdict")
    wait_until(lambda: box_line(seen()).startswith("No answer: "), "the end")


@pytest.mark.parametrize(
    ("way", "values", "sent", "said"),
    [
        ("both", {"delay": "1s"}, {"delay": "1s"}, "Changed: ab delay 1 s, ba delay 1 s."),
        ("ba", {"rate": "0", "loss": "1%"}, {"ba-rate": "0", "ba-loss": "1%"}, "Changed: ba rate none, ba loss 1%."),
        ("ab", {"delay": "4.2ms"}, {"ab-delay": "4.2ms"}, "Nothing has changed: the box had these values."),
        ("ab", {"rate": "fast"}, {"ab-rate": "fast"}, "--ab-rate 'fast': not a rate"),
        ("both", {"loss": "1"}, {"loss": "1"}, "--loss '1': has no unit; write 1% or 100%"),
        ("x-y", {"rate": "1"}, None, "direction 'x-y': not offered"),
        ("both", {}, None, "nothing to set"),
    ],
)
def test_values_reach_the_box_all_or_none(
    shown_box: live.Live, socket: Path, way: str, values: dict[str, str], sent: dict[str, str] | None, said: str
) -> None:
    pretending = PretendedBox()
    with pretended(socket, pretending.answer):
        assert shown_box.box and box_page.changed(shown_box.box, way, values)[0].startswith(said)
    assert [asked["values"] for asked in pretending.asked if asked["op"] == "set"] == ([sent] if sent else [])


def test_read_only_changes_no_box(shown_box: live.Live, socket: Path) -> None:
    assert shown_box.box and box_page.changed(shown_box.box, "both", {"delay": "1s"}, read_only=True)[1] is False
    assert "box-set" not in str(page_at(Runs(socket.parent, True), "/box", "", shown_box))
    assert "box-set" in str(page_at(Runs(socket.parent), "/box", "", shown_box))


def test_times_of_a_box_are_not_among_its_amounts() -> None:
    names = dict(box.read(PretendedBox().answer({"op": "show"})).numbers)
    assert names["ab.lateness.p99_ns"] == 41_943 and "ab.first_in_ns" not in names


def test_without_a_gateway_the_page_says_how_to_watch_one(tmp_path: Path) -> None:
    assert "--gateway SOCKET" in str(page_at(Runs(tmp_path), "/gateway"))
    with pytest.raises(LfpError, match="no run named"):
        page_at(Runs(tmp_path / "none"), "/run/x")


def test_what_the_page_sets_a_real_gateway_reports(shown: live.Live, socket: Path, tmp_path: Path) -> None:
    settings = Settings(psk=write_key(tmp_path / "psk"), listen=f"127.0.0.1:{free_port()}", control=socket)
    with Gateway(settings) as running:
        running.wait_ready(60)
        assert "now 123 Mbit/s" in told(set_rate(shown, tmp_path, 123))
        with Control(socket) as control:
            assert control.show()["parameters"]["rate_bps"] == 123_000_000
        assert shown.gateway
        assert "whole Mbit/s" in changed(shown.gateway, SETTING["rate"], 1.5)
        for name, value in (("host-rate", 7), ("rate-mode", "auto"), ("redundancy", "off"), ("bypass", "on")):
            assert f"is now {value}" in changed(shown.gateway, SETTING[name], value)
        assert "not a duration" in ended(shown.gateway, "soon")
        assert ended(shown.gateway, "0s") == "The gateway takes no new connections and stops within 0s."
        running.finish(60)


def test_stop_ends_a_real_gateway_and_the_page_goes_on(shown: live.Live, socket: Path, tmp_path: Path) -> None:
    settings = Settings(psk=write_key(tmp_path / "psk"), listen=f"127.0.0.1:{free_port()}", control=socket)
    assert shown.gateway
    seen = shown.gateway.seen
    for _ in range(2):  # another gateway at the same socket
        with Gateway(settings) as running:
            running.wait_ready(60)
            wait_until(lambda: seen().state, "the state")
            assert ended(shown.gateway, None) == "The gateway stops."
            running.finish(60)
        wait_until(lambda: "is lft-gateway running there?" in seen().error, "the end")
    assert "is lft-gateway running there?" in ended(shown.gateway, None)
