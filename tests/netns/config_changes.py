"""Random configuration changes for a running box, valid and wrong ones, with the answer that the box must give.

The parameters come from the box's own option table, so a new one is varied without being named here. The ranges are
such that TCP still gets through the path and that the path drains within a second."""

from __future__ import annotations

import json
import random
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netcommon.options import options

# Unit of the option table → suffix of the value as text, suffix of the name in `show`, highest value that is tried.
UNITS = {
    "DURATION": ("ns", "_ns", 20_000_000),
    "RATE": ("bit", "_bps", 10**10),
    "SIZE": ("B", "_bytes", 2_000_000),
    "RATIO": ("ppb", "_ppb", 2_000_000),
    "NUMBER": ("", "", 2000),
}
LOWEST = {"RATE": 10**8, "SIZE": 3000, "NUMBER": 2}
PACKETS_PER_S = {"pace-packets": (20_000, 10**6)}  # numbers that are rates
LOSSES = (
    "0%",
    "0.1%",
    "gilbert:0.1%,5",
    "4state:0.01%,30%,5%,20%,0.01%",
    "packets:5,10-12",
    "time:10ms-11ms",
    "seq:1000-2000",
    "retransmission:3",
)
MODELS = {
    "aqm": ("none", "codel", "codel:target=2ms,interval=50ms,ecn=on", "pie", "red"),
    "jitter": ("none", "200us", "normal:100us,25%", "pareto:100us", "paretonormal:50us,10%"),
    "rate-trace": ("none", "rate:0s=500Mbit,100ms=200Mbit"),
    "only": ("all", "data", "!ack-only", "tcp,!dport=22,src=10.0.0.0/8", "min-size=100,max-size=1514", "!udp,!fin"),
    "loss": LOSSES,
    "loss-after": LOSSES,
}
SHORT = 4096  # bytes: longest answer to `set`, which has only what changed, not the whole state
ANY = "any"  # any text is right: the box may write a model in another way than it was given
WRONG_VALUES = ("", "fast", "-1", "1e999", "7 parsecs", "99999999999999999999999", "\u00fc", "nan", "x" * 300)
WRONG_LINES = (
    b"", b"nonsense", b"{", b"[]", b'"set"', b'{"op":7}', b'{"op":"dance"}', b'{"op":"show","op":"show"}',
    b"\xff\xfe{}", b'{"op":"set"}', b'{"op":"set","values":[1]}', b'{"op":"set","values":{"delay":5}}',
    b'{"op":"set","values":{"delay":{"a":"1ms"}}}', b'{"op":"set","values":{"":"1"}}',
    b'{"op":"set","values":{"dealy":"3ms"}}', b'{"op":"set","values":{"\\u0000":"1"}}',
)  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A path option: its name without prefix, the unit or the choices that its values come from, its default and its
    bounds (None: none)."""

    name: str
    unit: str
    default: str
    least: int | None
    most: int | None

    @property
    def json_name(self) -> str:
        """Its name in `show`."""
        return self.name.replace("-", "_") + (UNITS[self.unit][1] if self.unit in UNITS else "")


@dataclass(frozen=True)
class Change:
    """A line for the control socket, and the values that it sets by (direction, name in `show`); None if the box must
    refuse it."""

    line: bytes
    sets: dict[tuple[str, str], int | str] | None


def parameters() -> list[Parameter]:
    """The path options: quantities, choices, and models for which this module has texts. Another option is an error."""
    rows = [row for row in options("comet-delay", "run").values() if row.name.startswith("ab-")]
    found = [
        Parameter(row.name[3:], row.metavar or "", row.default_text or "", row.minimum, row.maximum) for row in rows
    ]
    without = [p.name for p in found if p.unit not in UNITS and "|" not in p.unit and p.name not in MODELS]
    assert not without, f"add texts for {without} to MODELS"
    return found


class Generator:
    """An endless, seeded series of changes."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._parameters = parameters()

    def next(self) -> Change:
        """One in six is wrong."""
        kind = self._random.random()
        if kind < 0.06:
            return Change(self._random.choice(WRONG_LINES) + b"\n", None)
        values, sets = self._right_values()
        if kind < 0.16:  # one value of several is wrong: none of them may be set
            wrong = self._random.choice(self._parameters).name
            values[self._random.choice(("", "ab-", "ba-")) + wrong] = self._random.choice(WRONG_VALUES)
            return Change(self._line(values), None)
        return Change(self._line(values), sets)

    def neutral(self) -> bytes:
        """Every parameter back at its default: nothing is lost, and nothing waits."""
        return self._line({p.name: p.default for p in self._parameters if p.default})

    def _right_values(self) -> tuple[dict[str, str], dict[tuple[str, str], int | str]]:
        values: dict[str, str] = {}
        sets: dict[tuple[str, str], int | str] = {}
        for parameter in self._random.sample(self._parameters, self._random.randint(1, 4)):
            prefix = self._random.choice(("", "ab-", "ba-"))
            text, value = self._value(parameter)
            values[prefix + parameter.name] = text
            for direction in ("ab", "ba"):
                if prefix in ("", f"{direction}-"):
                    sets[direction, parameter.json_name] = value
        return values, sets

    def _value(self, parameter: Parameter) -> tuple[str, int | str]:
        if parameter.name in MODELS and parameter.unit not in UNITS:
            return self._random.choice(MODELS[parameter.name]), ANY
        if parameter.unit not in UNITS:
            choice = self._random.choice(parameter.unit.split("|"))
            return choice, choice
        suffix, _, high = UNITS[parameter.unit]
        low, high = PACKETS_PER_S.get(parameter.name, (LOWEST.get(parameter.unit, 0), high))
        least, most = parameter.least or 0, high if parameter.most is None else min(high, parameter.most)
        value = least if self._random.random() < 0.4 else self._random.randint(max(low, least), most)
        return f"{value}{suffix}", value

    @staticmethod
    def _line(values: dict[str, str]) -> bytes:
        return json.dumps({"op": "set", "values": values}).encode() + b"\n"


class Changer:
    """Sends changes in batches over a connection that it renews now and then, and checks every answer."""

    BATCH = 32

    def __init__(self, path: Path, generator: Generator) -> None:
        self._path, self._generator = path, generator
        self._state: dict[tuple[str, str], int | str] = {}
        self.accepted = self.refused = self.batches = 0
        self.reasons: set[str] = set()
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(30)
        self._socket.connect(str(self._path))
        self._answers = self._socket.makefile("rb")

    def close(self) -> None:
        """Ends the connection."""
        self._answers.close()
        self._socket.close()

    def batch(self) -> None:
        """One batch of changes; AssertionError at the first answer that is not what it has to be."""
        self.batches += 1
        if self.batches % 100 == 0:
            self.close()
            self._connect()
        changes = [self._generator.next() for _ in range(self.BATCH)]
        self._socket.sendall(b"".join(change.line for change in changes))
        for change in changes:
            self._check(change, self._answers.readline())
        self._socket.sendall(b'{"op":"show"}\n')
        self._compare(json.loads(self._answers.readline()))

    def _check(self, change: Change, text: bytes) -> None:
        assert text.endswith(b"}\n"), f"no whole answer to {change.line!r}: {text[-200:]!r}"
        if text.startswith(b'{"v":1,"ok":true,'):
            assert change.sets is not None, f"accepted: {change.line!r}"
            self._state |= change.sets
            assert len(text) < SHORT, f"{len(text)} bytes to {change.line!r}"
            self.accepted += 1
            return
        answer = json.loads(text)
        reason = answer["error"]
        assert answer["ok"] is False and isinstance(reason, str) and reason.strip() and "\n" not in reason, answer
        # the box may refuse a valid change only if rate times delay exceeds its memory
        assert change.sets is None or "--memory" in reason, f"{change.line!r}: {reason}"
        self.reasons.add(reason)
        self.refused += 1

    def _compare(self, state: dict[str, Any]) -> None:
        """The box has exactly the accepted values, whatever was refused in between."""
        for (direction, name), value in self._state.items():
            has = state["parameters"][direction][name]
            assert value in (has, ANY), f"{direction}.{name} is {has}, last set to {value}"

    def neutral(self) -> None:
        """Sets every parameter to its default."""
        self._socket.sendall(self._generator.neutral())
        assert self._answers.readline().startswith(b'{"v":1,"ok":true,')
