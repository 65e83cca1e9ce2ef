"""Tools as child processes: events, deadlines, errors, and an end that leaves nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from netcommon.ledger import Ledger, started_ticks
from netcommon.process import Tool, ToolError

PRELUDE = "import json,sys,time,signal\ndef say(**e): print(json.dumps({'v':1}|e),flush=True)\n"


def script(code: str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + code]


def wait_gone(pid: int, deadline_s: float = 60) -> bool:
    deadline = time.monotonic() + deadline_s
    while started_ticks(pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    return started_ticks(pid) is None


def test_events_in_order_and_the_end_object() -> None:
    code = "say(event='ready',port=5)\nsay(event='interval',n=1)\nsay(event='end',bytes=7)"
    with Tool(script(code)) as tool:
        assert tool.wait_event("ready", 60)["port"] == 5
        assert tool.finish(60)["bytes"] == 7
        assert [event["event"] for event in tool.events()] == ["ready", "interval", "end"]


def test_the_tools_own_error_line_and_status_are_passed_on() -> None:
    code = "say(event='error',status=2,message=\"--window 9GB: beyond the kernel's limit\")\nsys.exit(2)"
    with Tool(script(code), name="rttcp") as tool, pytest.raises(ToolError) as caught:
        tool.finish(60)
    assert str(caught.value) == "rttcp: --window 9GB: beyond the kernel's limit"
    assert caught.value.status == 2


def test_a_silent_failure_tells_the_last_line_of_stderr(tmp_path: Path) -> None:
    log = tmp_path / "stderr"
    code = "print('first\\nout of luck',file=sys.stderr)\nsys.exit(3)"
    with Tool(script(code), stderr_path=log) as tool, pytest.raises(ToolError, match="out of luck") as caught:
        tool.wait_event("ready", 60)
    assert caught.value.status == 3
    assert "first" in log.read_text()


def test_a_program_of_others_ends_with_what_it_started_also_without_the_pipe() -> None:
    """A child with another stdout does not hold the pipe, but may hold a port or an interface."""
    with Tool(["sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!; wait"], json_lines=False) as tool:
        child = int(tool.wait_event("line", 60)["text"])
    assert not _runs(child)


def _runs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_a_late_tool_is_an_error_and_is_ended() -> None:
    with Tool(script("time.sleep(60)")) as tool:
        begun = time.monotonic()
        with pytest.raises(ToolError, match="no answer in time"):
            tool.wait_event("ready", 0.3)
        assert time.monotonic() - begun < 30
        pid = tool.pid
    assert started_ticks(pid) is None


def test_nonsense_on_stdout_is_an_error() -> None:
    with Tool(script("print('hello')")) as tool, pytest.raises(ToolError, match="not a JSON line"):
        tool.finish(60)


def test_stop_lets_the_tool_write_its_end() -> None:
    code = (  # not a handler: SIGTERM may come while "ready" is being written, and writing is not reentrant
        "signal.pthread_sigmask(signal.SIG_BLOCK,[signal.SIGTERM])\n"
        "say(event='ready')\nsignal.sigwait([signal.SIGTERM])\nsay(event='end',state='told')"
    )
    with Tool(script(code)) as tool:
        tool.wait_event("ready", 60)
        assert tool.stop() == {"v": 1, "event": "end", "state": "told"}


def test_a_stubborn_tool_is_killed() -> None:
    code = "signal.signal(signal.SIGTERM,signal.SIG_IGN)\nsay(event='ready')\ntime.sleep(60)"
    with Tool(script(code)) as tool:
        tool.wait_event("ready", 60)
        assert tool.stop(timeout_s=0.2) is None
        assert not tool.running()


@pytest.mark.parametrize("heeds", [True, False])
def test_what_a_tool_started_does_not_outlive_it(heeds: bool) -> None:
    """As in `sh -c 'socat … & socat … & wait'`: the shell ends at once on SIGTERM, and its children hold its stdout."""
    child = (
        "import signal,time;"
        + ("" if heeds else "signal.signal(signal.SIGTERM,signal.SIG_IGN);")
        + "print('up',flush=True);time.sleep(60)"
    )
    with Tool(["sh", "-c", f'"{sys.executable}" -c "{child}" & echo $!; wait'], json_lines=False) as tool:
        lines = {tool.wait_event("line", 10)["text"].strip() for _ in range(2)}
        (pid,) = lines - {"up"}
        begun = time.monotonic()
        tool.stop(timeout_s=30 if heeds else 0.3)
        assert time.monotonic() - begun < 29
        assert wait_gone(int(pid))


def test_more_output_than_a_pipe_holds_does_not_block() -> None:
    code = "for n in range(5000): say(event='interval',text='x'*100)\nsay(event='end')"
    with Tool(script(code)) as tool:
        tool.finish(60)
        assert len(tool.events()) == 5001


def test_the_ledger_holds_the_process_while_it_lives(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    with Tool(script("say(event='ready')\ntime.sleep(60)"), ledger=ledger) as tool:
        tool.wait_event("ready", 60)
        assert Ledger.load(ledger.path).processes[tool.pid].alive()
    assert not Ledger.load(ledger.path).processes
    ledger.close()
    assert not list(tmp_path.iterdir())


def test_a_tool_dies_with_a_parent_that_is_killed() -> None:
    child = "import time; print('{}', flush=True); time.sleep(60)"
    parent_code = (
        "import sys,time\nfrom netcommon.process import Tool\n"
        f"with Tool([sys.executable,'-c',{child!r}],json_lines=False) as tool:\n"
        "    tool.wait_event('line',60); print(tool.pid,flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", parent_code], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert parent.stdout
    pid = int(parent.stdout.readline())
    assert started_ticks(pid) is not None
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_gone(pid)


def test_a_tool_whose_parent_is_killed_while_it_starts_does_not_run(tmp_path: Path) -> None:
    """A process that sets PR_SET_PDEATHSIG after its parent has died gets no signal."""
    slow = tmp_path / "setpriv"
    lines = "#!/bin/sh", f"touch {tmp_path}/begun", f"read line < {tmp_path}/go", f'exec {shutil.which("setpriv")} "$@"'
    slow.write_text("\n".join(lines))
    slow.chmod(0o755)
    os.mkfifo(tmp_path / "go")
    parent_code = (
        "import time\nfrom netcommon.process import Tool\n"
        f"with Tool(['touch','{tmp_path}/ran'],json_lines=False): time.sleep(60)\n"
    )
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    parent = subprocess.Popen([sys.executable, "-c", parent_code], env=environment)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (started,) = map(int, Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split())
    parent.kill()
    parent.wait()
    with (tmp_path / "go").open("w") as go:
        go.write("go\n")
    assert wait_gone(started)
    assert not (tmp_path / "ran").exists()


def test_plain_text_programs() -> None:
    with Tool(["echo", "two words"], json_lines=False) as tool:
        assert tool.output(10) == "two words\n"


def test_a_tool_that_ends_early_is_reported_with_its_status_and_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log" / "far-gateway.stderr"
    log.parent.mkdir()
    argv = [sys.executable, "-c", "import sys; print('no such device', file=sys.stderr); sys.exit(7)"]
    with Tool(argv, name="far-gateway", stderr_path=log) as tool, pytest.raises(ToolError) as caught:
        tool.wait_event("ready", 20)
    assert str(caught.value) == (
        "far-gateway: ended before it said 'ready', exit status 7 (no such device); see log/far-gateway.stderr"
    )


def test_a_tool_that_a_signal_ends_is_reported_with_the_signal() -> None:
    argv = [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    with Tool(argv, name="box") as tool, pytest.raises(ToolError, match=r"'ready', killed by SIGKILL$"):
        tool.wait_event("ready", 20)


def test_a_tool_outlives_the_thread_that_started_it() -> None:
    """The kernel sends a parent's death signal when the thread ends that started the process."""
    with contextlib.ExitStack() as stack:
        tool = Tool(script("say(event='ready')\nsys.stdin.read()"), stdin=True)

        def start() -> None:
            stack.enter_context(tool).wait_event("ready", 60)

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        with pytest.raises(ToolError, match="no answer in time"):
            tool.finish(0.5)
        assert tool.running()
