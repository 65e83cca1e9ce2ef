"""The client of a control socket: what a user reads when the tool refuses, hangs up, talks nonsense or is not there."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from comet_delay import Port
from comet_delay.control import Control
from comet_delay.userspace import UserspaceBox
from netcommon.control import ControlError, Refused
from netcommon.errors import EXIT_FAILED, EXIT_USAGE, LfpError

REFUSAL = b'{"v":1,"ok":false,"error":"--loss \'much\': not a ratio"}\n'


@contextmanager
def answering(folder: Path, answer: bytes) -> Iterator[Path]:
    """A control socket that gives one connection this answer and hangs up."""
    path = folder / "control"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        thread.join(30)


def box_at(path: Path) -> UserspaceBox:
    """A client of a box that this test did not start, so anything may be behind its socket."""
    return UserspaceBox(Port("a"), Port("b"), control=path)


def test_an_answer_is_the_tools_object(tmp_path: Path) -> None:
    with answering(tmp_path, b'{"v":1,"ok":true,"changed":{}}\n') as path, Control(path) as control:
        assert control.set(ab_rate="45Mbit") == {"v": 1, "ok": True, "changed": {}}


def test_a_refusal_is_the_tools_own_line(tmp_path: Path) -> None:
    with (
        answering(tmp_path, REFUSAL) as path,
        Control(path) as control,
        pytest.raises(Refused, match="--loss 'much': not a ratio"),
    ):
        control.set(loss="much")


@pytest.mark.parametrize(
    ("answer", "words"),
    [(b"", "closed the connection"), (b"hello\n", "something else than a JSON object: b'hello"), (b"[]\n", "b'\\[\\]")],
    ids=["nothing", "text", "list"],
)
def test_no_answer_says_which_tool_it_was(tmp_path: Path, answer: bytes, words: str) -> None:
    with answering(tmp_path, answer) as path, Control(path) as control:
        with pytest.raises(ControlError, match=f"comet-delay .*{words}") as caught:
            control.show()
        assert not isinstance(caught.value, Refused)


def test_a_path_too_long_for_a_socket_says_so(tmp_path: Path) -> None:
    with pytest.raises(ControlError, match="too long; is comet-delay running there"):
        Control(tmp_path / ("x" * 120))


def test_a_socket_of_another_user_is_not_taken_for_a_missing_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may use every socket, so the test makes up the kernel's answer."""

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("netcommon.control.socket.socket.connect", denied)
    with pytest.raises(ControlError, match=r"^s: Permission denied; want root, or the user who started comet-delay$"):
        Control(Path("s"))


def test_a_value_that_the_box_refuses_is_wrong_usage(tmp_path: Path) -> None:
    with answering(tmp_path, REFUSAL) as path, pytest.raises(LfpError, match="not a ratio") as caught:
        box_at(path).set(ab={"loss_ppb": 10**7})
    assert caught.value.status == EXIT_USAGE


def test_a_box_that_has_gone_is_a_failure_and_no_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(LfpError, match="is comet-delay running there") as caught:
        box_at(tmp_path / "gone").set(ab={"loss_ppb": 10**7})
    assert caught.value.status == EXIT_FAILED
