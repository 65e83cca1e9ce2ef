"""The option tables that the tools print, for every tool and verb, and how Python reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netcommon import options
from netcommon.errors import LfpError
from netcommon.quantity import UNITS, format_value

TOOLS = ("comet-delay", "rttcp", "pktlogger", "lft-gateway", "lft-sim", "timer-witness")


def everything() -> list[tuple[str, str | None]]:
    return [(tool, verb) for tool in TOOLS for verb in options.verbs(tool)]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_lists_its_verbs(tool: str) -> None:
    assert all(options.verbs(tool).values()), "a verb without help"


def test_every_verb_lists_its_options() -> None:
    for tool, verb in everything():
        for option in options.options(tool, verb).values():
            assert option.help and option.kind in ("flag", "string", "text", "choice", "quantity", "quantities", "list")
            assert (option.metavar is None) == (option.kind == "flag"), option
            assert bool(option.choices) == (option.kind == "choice"), option
            assert (option.unit in UNITS) == (option.kind in ("quantity", "quantities")), option


def test_numbers_and_texts_of_a_quantity_say_the_same() -> None:
    for tool, verb in everything():
        for option in options.options(tool, verb).values():
            if option.unit is None:
                continue
            for number, text in ((option.minimum, option.minimum_text), (option.maximum, option.maximum_text)):
                assert (text is None) == (number is None)
                if text is not None and number is not None:
                    assert format_value(UNITS[option.unit], number) == text, option
                    assert option.parse(text) == number, option
            if option.default_text is not None and option.default:
                assert option.parse(option.default_text) == option.default, (tool, verb, option)


def test_the_delay_boxs_longest_delay() -> None:
    delay = options.options("comet-delay", "run")["delay"]
    assert (delay.kind, delay.unit, delay.default, delay.minimum, delay.maximum) == (
        "quantity",
        "duration",
        0,
        0,
        3600 * 10**9,
    )
    assert delay.parse("4.2ms") == 4_200_000
    with pytest.raises(ValueError, match="out of range; allowed is 0ns to 3600s"):
        delay.parse("2h")
    framing = options.options("comet-delay", "run")["framing"]
    with pytest.raises(ValueError, match="allowed is one of l2, ethernet, ip"):
        framing.parse("atm")


def _stub(path: Path, answer: object) -> Path:
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(answer)}\nEND\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_another_binary_is_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = options.options("comet-delay", "run")["delay"].maximum
    row = {
        "name": "delay", "letter": None, "kind": "quantity", "unit": "duration", "default": 0, "default_text": "0ns",
        "minimum": 0, "minimum_text": "0ns", "maximum": 5, "maximum_text": "5ns", "choices": None,
        "metavar": "DURATION", "help": "one way", "of_a_later_version": 1,
    }  # fmt: skip
    stub = _stub(tmp_path / "stub", {"tool": "stub", "verb": "run", "options": [row]})
    monkeypatch.setenv("LFP_COMET_DELAY", str(stub))
    assert options.options("comet-delay", "run")["delay"].maximum == 5
    with pytest.raises(ValueError, match="allowed is 0ns to 5ns"):
        options.options("comet-delay", "run")["delay"].parse("6ns")
    monkeypatch.delenv("LFP_COMET_DELAY")
    assert options.options("comet-delay", "run")["delay"].maximum == longest


def test_a_tool_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexit 2\n", encoding="utf-8")
    silent.chmod(0o755)
    monkeypatch.setenv("LFP_RTTCP", str(silent))
    with pytest.raises(LfpError, match="cannot list what it takes"):
        options.options("rttcp")
