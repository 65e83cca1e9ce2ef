"""tools/completion.bash in bash, against the real programs' verbs and options; and the answers of `lfp` to a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lfp import cli
from lfp.commands import _complete
from netcommon.binaries import find

COMPLETION = Path(__file__).resolve().parents[3] / "tools" / "completion.bash"


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


def lfp_offers(*words: str, shell: str = "bash", cwd: Path | None = None) -> list[str]:
    """The answer of `lfp` to the shell's completion script for the last word of a command line."""
    line, current = shlex.join(["lfp", *words]), str(len(words))
    if shell == "fish":
        current = words[-1]
    elif not words[-1]:
        line = shlex.join(["lfp", *words[:-1]])
    variables = os.environ | {"_LFP_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": current}
    variables.pop("LFP_RUNS_DIR", None)
    argv = [sys.executable, "-c", "from lfp.start import main; main()"]
    done = subprocess.run(argv, env=variables, cwd=cwd, capture_output=True, text=True, timeout=60, check=True)
    assert not done.stderr
    return done.stdout.splitlines()


def test_what_lfp_completes_is_what_its_verbs_take() -> None:
    kept = _complete.INDEX.read_text(encoding="utf-8")
    assert kept == _complete.index(cli.lfp), "run .venv/bin/python tools/library-index"


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("sh",), ["plain,show"]),
        (("run", "--ti"), ["plain,--time"]),
        (("run", "--time", "v"), ["plain,virtual"]),
        (("run", "--time", "=", "v"), ["plain,virtual"]),
        (
            (
                "run",
                "--time=v",
            ),
            ["plain,virtual"],
        ),
        (("run", "lsr-ipv6"), ["plain,lsr-ipv6-multi", "plain,lsr-ipv6-single"]),
        (("run", "lfp-line", "--set", "path.ab_dela"), ["plain,path.ab_delay="]),
        (("run", "--set", "gateway.recovery=gbn-"), ["plain,gateway.recovery=gbn-strict"]),
        (("run", "--set", "gateway.recovery", "=", "gbn-"), ["plain,gbn-strict"]),
        (("run", "--set", "gateway.cipher", "="), []),
        (("compare", "a", "b", "--metric", "peak_"), ["plain,peak_bps"]),
        (("import", "x"), ["file,x"]),
        (("show", ""), ["plain,last", "plain,new-2", "plain,old-1"]),
        (("show", "--runs-dir", "elsewhere", ""), ["plain,last"]),
        (("run", "mine/"), ["plain,mine/one.toml", "plain,mine/sub/"]),
    ],
)
def test_lfp_completes(tmp_path: Path, words: tuple[str, ...], wanted: list[str]) -> None:
    for number, name in enumerate(("old-1", "new-2"), 1):
        run = tmp_path / "runs" / name
        run.mkdir(parents=True)
        (run / "manifest.json").touch()
        os.utime(run, (number, number))
    (tmp_path / "runs/no-run").mkdir()
    (tmp_path / "mine/sub").mkdir(parents=True)
    (tmp_path / "mine/one.toml").touch()
    found = lfp_offers(*words, cwd=tmp_path)
    if words[-1] == "=":
        assert "plain,aes-128-gcm" in found
    else:
        assert found == wanted


@pytest.mark.parametrize(("shell", "wanted"), [("zsh", ["plain", "show", "_"]), ("fish", ["plain,show"])])
def test_lfp_completes_in_other_shells(shell: str, wanted: list[str]) -> None:
    assert lfp_offers("sho", shell=shell) == wanted


def test_completion_loads_nothing_that_takes_time() -> None:
    loaded = "print([m for m in ('click', 'pydantic') if m in sys.modules])"
    code = f"import sys; from lfp.start import main; main(); {loaded}"
    variables = os.environ | {"_LFP_COMPLETE": "bash_complete", "COMP_WORDS": "lfp sho", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,show\n[]\n"


@pytest.mark.parametrize(
    ("line", "at", "wanted"),
    [
        ("lfp run --set transfer.tool = ip", 5, ["iperf3"]),
        ("lfp run --ti", 2, ["--time"]),
        ("lfp import ''", 2, ["/of/files"]),  # what bash itself completes
        ("lfp run --set path.ab_dela", 3, ["path.ab_delay=", "/no/space"]),
    ],
)
def test_bash_itself_completes_lfp(line: str, at: int, wanted: list[str]) -> None:
    script = COMPLETION.with_name("lfp-completion.bash")
    told = (
        'compopt() { [ "$2" = default ] && COMPREPLY+=(/of/files) || COMPREPLY+=(/no/space); }; '
        f"PATH={Path(sys.prefix) / 'bin'}:$PATH; . {script}; COMP_WORDS=({line}); COMP_CWORD={at}; "
        "_lfp_completion lfp; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-uc", told], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == wanted and not done.stderr
