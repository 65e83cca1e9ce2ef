"""tools/completion.bash in bash, against the real programs' verbs and options."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from netcommon.binaries import find

COMPLETION = Path(__file__).resolve().parents[2] / "tools" / "completion.bash"


def offered(tool: str, *words: str) -> list[str]:
    """What bash offers for the last word of a command line."""
    line = [str(find(tool)), *words]
    script = (
        f". {COMPLETION}; COMP_WORDS=({shlex.join(line)}); COMP_CWORD={len(words)}; "
        f"_lfp_tool {shlex.join([line[0], line[-1], line[-2]])}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    done = subprocess.run(["bash", "-uc", script], capture_output=True, text=True, timeout=30, check=True)
    assert not done.stderr
    return done.stdout.split()


def test_verbs_come_first() -> None:
    assert {"run", "show", "set", "watch", "metrics"} <= set(offered("comet-delay", ""))
    assert offered("lft-gateway", "dr") == ["drain"]


def test_options_are_those_of_the_verb() -> None:
    assert "--granularity" in offered("comet-delay", "run", "--gra")
    assert "--granularity" not in offered("comet-delay", "show", "--")
    assert offered("rttcp", "--congest") == ["--congestion"]


@pytest.mark.parametrize("words", [("run", "--recovery", ""), ("run", "--recovery", "=", "")])
def test_an_option_with_choices_offers_them(words: tuple[str, ...]) -> None:
    assert set(offered("lft-gateway", *words)) == {"gbn-strict", "gbn", "selective", "fec"}


def test_a_value_without_choices_is_left_to_file_names() -> None:
    assert offered("pktlogger", "index", "snd") == []
    assert offered("rttcp", "--samples", "") == []
