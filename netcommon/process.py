"""A tool as a child process. It prints JSON lines, every wait has a deadline, and only its own processes are signalled.

Three programs start before the tool, each by exec, so that the process id stays the tool's:

- ``setpriv --pdeathsig``: the kernel ends the tool when we die, whatever kills us
- a shell that checks that we are still alive, because the kernel sends no signal for a parent that died earlier
- ``nsenter``, for a tool in a namespace

The first two are left out if we are process 1, as in a guest, because no process survives process 1. In a guest a tool
of ours that is a Python module runs as a fork of this process instead of a new program (`_as_a_copy`).

The tool gets a process group of its own. So Ctrl-C signals only us, and we stop the tools one by one. After a tool has
exited we end the processes that it left behind in that group. A thread reads stdout into a queue, because a tool must
never block on a pipe while we wait for another tool.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from netcommon.errors import EXIT_FAILED, LfpError
from netcommon.ledger import Ledger
from netcommon.netns import enter, namespace_path

Event = dict[str, Any]
# Time limit for a tool to report that it is ready, or to answer a question and exit. It usually takes a hundredth of
# this; a machine with a load of 25 takes seconds to start a program.
START_TIMEOUT_S = 60.0
# A shell checks that the parent still lives, because the kernel sends no signal for a parent that died before setpriv
# asked for it.
_IF_PARENT_LIVES = '[ "$PPID" = "$0" ] && exec "$@"'
_LINGER_S = 0.02  # time for a pipe to close after its tool has ended
_WORDS_S = 0.5  # time for the last line of a tool that has ended to arrive
_LOOK_S = 0.005
_END = object()  # queue mark: stdout closed
_PATH_BYTES = 4096
_BEHIND: ContextVar[tuple[str, ...]] = ContextVar("behind", default=())


class ToolError(LfpError):
    """A tool failed, was late or wrote something other than JSON lines. The message is the tool's own error line if it
    printed one."""


def _dying_with_us() -> list[str]:
    """A command prefix that makes a tool end when we die."""
    if os.getpid() == 1:
        return []
    return ["setpriv", "--pdeathsig", "TERM", "--", "sh", "-c", _IF_PARENT_LIVES, str(os.getpid())]


def _by_a_thread_that_stays(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Starts a process in a thread that lives as long as we do. The kernel sends the parent-death signal when the
    thread ends that started the process."""
    if os.getpid() == 1 or threading.current_thread() is threading.main_thread():
        return start()
    return _starter().submit(start).result()


@functools.cache
def _starter() -> ThreadPoolExecutor:
    os.register_at_fork(after_in_child=_starter.cache_clear)  # a forked child does not have the thread
    return ThreadPoolExecutor(1, "start-tools")


@contextlib.contextmanager
def behind(*words: str) -> Iterator[None]:
    """Starts tools inside this block through this command, which must exec the arguments that follow it."""
    token = _BEHIND.set(words)
    try:
        yield
    finally:
        _BEHIND.reset(token)


def started(argv: Sequence[str]) -> list[str]:
    """``argv`` preceded by the command through which tools start now (`behind`), with the program's full path."""
    if not (first := _BEHIND.get()):
        return list(argv)
    return [*first, shutil.which(argv[0]) or argv[0], *argv[1:]]


def _environment() -> dict[str, str] | None:
    """A tool's environment variables in a guest. They have the same number of octets on every host: the stack lies
    below them, and programs derive random numbers from its address (glibc's mkstemp, which iperf3 uses). None outside a
    guest: the tool inherits ours."""
    if os.getpid() != 1:
        return None
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH" and not name.startswith("LFP_")}
    path = own.get("PATH", os.defpath)
    return own | {"PATH": path + "/" * (-len(path) % _PATH_BYTES)}


def _as_a_copy(
    command: list[str], netns: int | str | None, environment: dict[str, str] | None
) -> Callable[[], None] | None:
    """In a guest, the function that a forked child runs instead of ``command`` when that is a Python module; None for
    any other command. A fork of this interpreter takes no virtual time, while the start of a new interpreter takes a
    time that depends on its version and packages. The function is safe after a fork: it takes no lock that another
    thread holds for long."""
    if environment is None or command[:2] != [sys.executable, "-m"]:
        return None

    def run() -> None:
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))  # also closes the pipe on which subprocess waits for a new program
        status = EXIT_FAILED
        try:
            if netns is not None:
                enter(namespace_path(netns))
            os.environ.clear()
            os.environ.update(environment)
            sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
            importlib.import_module(command[2]).main(command[3:])
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else EXIT_FAILED
        except BaseException:
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
            os._exit(status)

    return run


def _how_it_ended(status: int) -> str:
    """How a process ended, in words. ``status`` as in subprocess: negative for a signal."""
    return f"exit status {status}" if status >= 0 else f"killed by {signal.Signals(-status).name}"


def _file_to_see(stderr: Path | None) -> str:
    return f"; see {stderr.parent.name}/{stderr.name}" if stderr else ""


def _has_members(group: int) -> bool:
    """Whether a process of this process group runs. kill(2) cannot answer this, because a process that has ended stays
    a member until it is reaped."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(of_group) == group and state not in "ZX":
                return True
    return False


class Tool:
    """A running tool. ``with Tool([...], netns_pid=…) as tool: tool.wait_event("ready", START_TIMEOUT_S)``.

    ``stderr_path`` keeps the tool's stderr (a temporary file otherwise); ``ledger`` records ownership for clean-up.
    Without ``json_lines``, for third-party programs, each line of stdout is an event ``{"event": "line", "text": …}``.
    With ``stdin`` the tool reads what ``say`` writes; without it, nothing. ``cwd``: the folder that it runs in, if that
    exists.
    """

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        netns_pid: int | str | None = None,
        name: str | None = None,
        stderr_path: Path | None = None,
        ledger: Ledger | None = None,
        json_lines: bool = True,
        stdin: bool = False,
        cwd: Path | None = None,
    ) -> None:
        self.argv = [str(a) for a in argv]
        self.name = name or Path(self.argv[0]).name
        self._netns_pid = netns_pid
        self._stderr_path = stderr_path
        self._ledger = ledger
        self._json_lines = json_lines
        self._stdin = stdin
        self._cwd = cwd if cwd and cwd.is_dir() else None
        self._seen: list[Event] = []
        self._queue: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._closed = threading.Event()  # set when every process that had the tool's stdout has closed it
        self._process: subprocess.Popen[bytes] | None = None
        self._stderr: IO[bytes] | None = None

    def __enter__(self) -> Tool:
        enter = [] if self._netns_pid is None else ["nsenter", f"--net={namespace_path(self._netns_pid)}", "--"]
        command, environment = [*_dying_with_us(), *enter, *started(self.argv)], _environment()
        self._stderr = self._stderr_path.open("w+b") if self._stderr_path else tempfile.TemporaryFile()
        stdin = subprocess.PIPE if self._stdin else subprocess.DEVNULL
        self._process = _by_a_thread_that_stays(
            lambda: subprocess.Popen(
                command,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                process_group=0,
                env=environment,
                cwd=self._cwd,
                preexec_fn=_as_a_copy(self.argv, self._netns_pid, environment),
            )
        )
        threading.Thread(target=self._drain, name=f"read-{self.name}", daemon=True).start()
        try:
            if self._ledger:
                self._ledger.add_process(self._process.pid, self.name)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        with contextlib.suppress(ToolError):
            self.stop()
        assert self._stderr and self._process
        self._stderr.close()
        if self._process.stdin:
            self._process.stdin.close()

    @property
    def pid(self) -> int:
        """Process id; valid once entered."""
        assert self._process
        return self._process.pid

    def wait_event(self, name: str, timeout_s: float) -> Event:
        """Waits for the next event ``name``. Events before it stay in ``events()``. ToolError when the tool ends, fails
        or is late."""
        deadline = time.monotonic() + timeout_s
        while True:
            event = self._next(deadline)
            if event is None:
                raise self._failure(f"ended before it said '{name}'")
            if event.get("event") == name:
                return event

    def said(self, text: str, timeout_s: float) -> bool:
        """Whether a tool without JSON lines prints a line ``text`` within this time. False also when it ends
        before."""
        deadline = time.monotonic() + timeout_s
        while (left_s := deadline - time.monotonic()) > 0:
            try:
                item = self._queue.get(timeout=left_s)
            except queue.Empty:
                return False
            if item is _END:
                self._queue.put(_END)
                return False
            if str(self._decode(item).get("text")).strip() == text:
                return True
        return False

    def events(self) -> list[Event]:
        """Every event so far, in order."""
        self._take_waiting()
        return list(self._seen)

    def last(self, name: str) -> Event | None:
        """The latest event called ``name``, or None."""
        return next((e for e in reversed(self.events()) if e.get("event") == name), None)

    def say(self, line: str) -> None:
        """Writes a line to the tool's standard input. No effect when the tool has ended."""
        assert self._process and self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def running(self) -> bool:
        """True while the process lives."""
        assert self._process
        return self._process.poll() is None

    def finish(self, timeout_s: float) -> Event:
        """Waits until the tool ends by itself. Returns its ``end`` event. ToolError when it fails or is late."""
        deadline = time.monotonic() + timeout_s
        while self._next(deadline) is not None:
            pass
        return self._ended(deadline)

    def output(self, timeout_s: float) -> str:
        """Waits for the end of a program without JSON lines, and returns what it printed. ToolError when its status is
        neither 0 nor 1."""
        deadline = time.monotonic() + timeout_s
        while self._next(deadline) is not None:
            pass
        assert self._process
        self._process.wait(max(deadline - time.monotonic(), 1))
        self._reaped()
        text = "".join(event["text"] for event in self._seen)
        if self._process.returncode not in (0, 1) or not text:
            raise self._failure(f"exit status {self._process.returncode}")
        return text

    def ask_to_end(self) -> None:
        """Sends SIGTERM. `stop` waits for the end; so several tools can end at the same time."""
        self._signal(signal.SIGTERM)

    def stop(self, timeout_s: float = 5) -> Event | None:
        """Ends the tool (SIGTERM, then SIGKILL after ``timeout_s``), and then the processes that it left behind in its
        group. Returns its ``end`` event if it wrote one."""
        assert self._process
        self._signal(signal.SIGTERM)
        deadline = time.monotonic() + timeout_s
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        for number, wait_s in ((signal.SIGTERM, _LINGER_S), (signal.SIGKILL, timeout_s)):
            if not self._group_ended(wait_s):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, number)
        self._group_ended(_LINGER_S)
        with contextlib.suppress(ToolError):  # a process that left the group may keep the pipe open for good
            while self._next(max(deadline, time.monotonic() + 1), check_error=False) is not None:
                pass
        self._reaped()
        return self.last("end")

    def _group_ended(self, timeout_s: float) -> bool:
        """Whether the tool's whole process group ends within this time. Our own tools have no children that outlive
        them, so for them it is enough that the pipe is closed. A third-party program may have closed the pipe and still
        hold a port or an interface."""
        deadline = time.monotonic() + timeout_s
        if not self._closed.wait(timeout_s):
            return False
        while not self._json_lines and _has_members(self.pid):
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_S)
        return True

    def _ended(self, deadline: float) -> Event:
        assert self._process
        try:
            status = self._process.wait(max(deadline - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            raise self._failure("closed its output and does not end") from None
        self._reaped()
        end = self.last("end")
        if status != 0 or end is None:
            raise self._failure("wrote no 'end' line" if status == 0 else _how_it_ended(status))
        return end

    def _reaped(self) -> None:
        if self._ledger:
            self._ledger.drop_process(self.pid)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        if self._process.poll() is None:
            self._process.send_signal(number)

    def _drain(self) -> None:
        assert self._process and self._process.stdout
        with self._process.stdout as stdout:
            for line in stdout:
                self._queue.put(line)
        self._queue.put(_END)
        self._closed.set()

    def _next(self, deadline: float, *, check_error: bool = True) -> Event | None:
        """The next event; None at the end of the output. An ``error`` event is raised as a ToolError."""
        try:
            item = self._queue.get(timeout=max(deadline - time.monotonic(), 0.001))
        except queue.Empty:
            raise self._failure("gave no answer in time") from None
        if item is _END:
            self._queue.put(_END)
            return None
        event = self._decode(item)
        if check_error and event.get("event") == "error":
            raise self._failure("failed")
        return event

    def _take_waiting(self) -> None:
        while True:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return
            if item is _END:
                self._queue.put(_END)
                return
            self._decode(item)

    def _decode(self, line: object) -> Event:
        assert isinstance(line, bytes)
        try:
            event = json.loads(line) if self._json_lines else {"event": "line", "text": line.decode(errors="replace")}
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise ToolError(f"{self.name}: not a JSON line on stdout: {line[:80]!r}")
        self._seen.append(event)
        return event

    def failed(self, what: str) -> ToolError:
        """The error of a program that failed as ``what`` says: status 1, whatever the program's own status. Its text
        has the last line that the program wrote to stderr, or to stdout."""
        return ToolError(str(self._failure(what)))

    def _failure(self, what: str) -> ToolError:
        """The tool's own error line and status if it printed one; otherwise ``what`` and the last line of its
        stderr."""
        assert self._process
        self._take_waiting()
        error = next((e for e in reversed(self._seen) if e.get("event") == "error"), None)
        if error:
            return ToolError(f"{self.name}: {error.get('message', 'failed')}", int(error.get("status", EXIT_FAILED)))
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        status = self._process.returncode
        said, place = self._last_stderr_line() or self._last_printed(), _file_to_see(self._stderr_path)
        how = "" if status is None or what == _how_it_ended(status) else f", {_how_it_ended(status)}"
        message = f"{self.name}: {what}{how}" + (f" ({said})" if said else "") + place
        return ToolError(message, status if status in (1, 2, 3) else EXIT_FAILED)

    def _last_printed(self) -> str:
        """The last line on stdout of a program without JSON lines."""
        if not self._json_lines and self._process and self._process.poll() is not None:
            self._closed.wait(_WORDS_S)  # the thread may still be reading stdout
            self._take_waiting()
        lines = [] if self._json_lines else [str(event["text"]).strip() for event in self._seen]
        return next((line for line in reversed(lines) if line), "")

    def _last_stderr_line(self) -> str:
        assert self._stderr
        descriptor = self._stderr.fileno()  # pread does not move the offset, at which the tool writes
        size = os.fstat(descriptor).st_size
        lines = os.pread(descriptor, 2000, max(size - 2000, 0)).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""
