"""The control socket of a running gateway: right and wrong values of every setting, and clients that misbehave."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from lft_lab import ROUTER, Lab, lft_lab, until
from lft_transfer import transfer, wait_received

from lft_ref import Control
from netcommon.control import ControlError

pytestmark = [pytest.mark.netns, pytest.mark.timeout(180)]

LINE_MAX, CLIENTS_MAX = 8192, 8  # CONTROL.md


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with lft_lab(delay="2ms") as made, made.gateways(*ROUTER):
        yield made


class Client(Control):
    """A connection to the near gateway's control socket that can send any octets and returns any answer."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(lab.folder / "near", timeout_s=60)

    def ask(self, request: object) -> dict[str, Any]:
        """A request's answer; text is sent as it is."""
        text = request if isinstance(request, str) else json.dumps(request)
        self.send(text.encode() + b"\n")
        answer = self.answer()
        assert answer is not None, f"dropped after {text!r}"
        return answer

    def set(self, **values: object) -> dict[str, Any]:
        return self.ask({"op": "set", "values": {name.replace("_", "-"): value for name, value in values.items()}})


RIGHT = [
    ("rate", "800Mbit", "rate_bps", 800_000_000),
    ("rate", "1Mbit", "rate_bps", 1_000_000),
    ("rate", "0", "rate_bps", 0),
    ("rate_mode", "auto", "rate_mode", "auto"),
    ("rate_mode", "fixed", "rate_mode", "fixed"),
    ("host_rate", "50Mbit", "host_rate_bps", 50_000_000),
    ("host_rate", "0", "host_rate_bps", 0),
    ("redundancy", "off", "redundancy", False),
    ("redundancy", "on", "redundancy", True),
    ("bypass", "on", "bypass", "on"),
    ("bypass", "off", "bypass", "off"),
    ("bypass", "auto", "bypass", "auto"),
]
WRONG = [
    {"rate": "fast"}, {"rate": "1500Kbit"}, {"rate": "-1Mbit"}, {"rate": ""}, {"rate": "800"}, {"rate": 800},
    {"rate": None}, {"rate": "99999999999999999999Mbit"}, {"rate-mode": "slow"}, {"rate-mode": ""}, {"rate-mode": 1},
    {"host-rate": "1.5Mbit"}, {"host-rate": "many"}, {"redundancy": "maybe"}, {"redundancy": True},
    {"bypass": "perhaps"},
    {"cipher": "null"}, {"psk-file": "/dev/null"}, {"": ""}, {"rate": "5Mbit", "nonsense": "1"},
    {"bypass": "on", "rate": "wrong"}, {"redundancy": "off", "host-rate": "999999"}, [], "rate=5Mbit", None,
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "shown", "value"), RIGHT)
def test_a_setting_that_is_right(lab: Lab, name: str, text: str, shown: str, value: object) -> None:
    with Client(lab) as client:
        answer = client.set(**{name: text})
        assert answer["ok"] is True, answer
        assert lab.show()["parameters"][shown] == value


@pytest.mark.parametrize("values", WRONG, ids=json.dumps)
def test_settings_that_are_wrong_change_nothing(lab: Lab, values: object) -> None:
    with Client(lab) as client:
        before = client.ask({"op": "show"})["parameters"]
        answer = client.ask({"op": "set", "values": values})
        assert answer["ok"] is False and answer["error"] and "\n" not in answer["error"], answer
        assert client.ask({"op": "show"})["parameters"] == before


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "1", '"show"', "{}", '{"op":5}', '{"op":"sho"}', '{"op":"show","op":"show"}',
     '{"op":"stop","within":1}', '{"op":"stop","within":"soon"}', '{"op":"stop","within":"-1s"}', "\x00", "[" * 4000],
)  # fmt: skip
def test_requests_that_are_none(lab: Lab, line: str) -> None:
    with Client(lab) as client:
        answer = client.ask(line)
        assert answer["ok"] is False and answer["error"], answer
        assert client.ask({"op": "show"})["draining"] is False


def test_what_is_set_holds_for_a_transfer_under_way(lab: Lab) -> None:
    with Client(lab) as client, transfer(lab, 8000) as flow:
        wait_received(flow, 100_000, 60)
        assert client.set(rate="4Mbit")["ok"]
        assert client.ask({"op": "show"})["engine"]["rate_bps"] == 4_000_000
        wait_received(flow, 200_000, 60)
        before = lab.show()
        until(lambda: lab.show()["uptime_ns"] > before["uptime_ns"] + 10**9, 60, "a second later")
        after = lab.show()
        sent = sum(after["engine"]["sent"][kind]["wire_bytes"] for kind in after["engine"]["sent"])
        sent -= sum(before["engine"]["sent"][kind]["wire_bytes"] for kind in before["engine"]["sent"])
        allowed = 4e6 / 8 * (after["uptime_ns"] - before["uptime_ns"]) / 1e9
        assert sent <= 1.01 * allowed + 20 * 1500, f"{sent} octets, {allowed:.0f} allowed"
        assert client.set(rate="0", redundancy="on")["ok"]
        wait_received(flow, 2_000_000, 60)
        flow.check()


def test_lines_in_pieces_and_several_at_once(lab: Lab) -> None:
    with Client(lab) as client:
        for octet in b'{"op":"show"}':
            client.send(bytes([octet]))
        client.send(b'\n{"op":"show"}\n{"op":')
        assert [bool(client.answer()) for _ in range(2)] == [True, True]
        client.send(b'"show"}\n')
        assert client.answer()


def test_a_line_without_end_ends_the_client(lab: Lab) -> None:
    with Client(lab) as client:
        client.send(b"x" * LINE_MAX)
        assert client.answer() is None
    assert lab.show()


def test_a_client_that_does_not_listen_is_dropped_and_holds_nobody_up(lab: Lab) -> None:
    with Client(lab) as deaf, transfer(lab, 8001) as flow:
        asked = 0
        try:
            while asked < 20_000:
                deaf.send(b'{"op":"show"}\n' * 100)
                asked += 100
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert asked < 20_000, "it is still there"
        wait_received(flow, 500_000, 60)
        flow.check()


def test_no_more_than_so_many_clients(lab: Lab) -> None:
    clients = [Client(lab) for _ in range(CLIENTS_MAX)]
    try:
        assert all(client.ask({"op": "show"})["ok"] for client in clients)
        with Client(lab) as late:
            assert late.answer() is None
    finally:
        for client in clients:
            client.close()
    until(lambda: _answers(lab), 60, "answers again")


def _answers(lab: Lab) -> bool:
    """Whether the gateway answers. It does so only once it has noticed that earlier clients have gone."""
    with suppress(ControlError):
        return bool(lab.show())
    return False


def test_the_socket_is_its_owners_alone(lab: Lab) -> None:
    assert (lab.folder / "near").stat().st_mode & 0o077 == 0
