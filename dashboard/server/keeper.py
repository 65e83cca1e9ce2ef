"""The dashboard's keeper: the process that keeps the rights of whoever started `lfp dashboard`
(`python -m dashboard.server.keeper`).

The server, which strangers reach and which reads what strangers made, is confined (serving.py). What pages may start or
change, it asks this process for. Invariants: the models below are all that can be asked; a run is named and never
becomes a path; nothing of a run is read here but its names and its tags. With --read-only only the state of a watched
tool can be asked for, and if no tool is watched there is no keeper. It ends with the server, and ends the demonstration
that runs then.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

import comet_delay
import lft_ref
from dashboard.classroom.demonstration import CHOICES, setting_of
from dashboard.core import tags
from dashboard.live.box import PARAMETERS, WAYS
from dashboard.live.gateway import SETTINGS
from dashboard.server.changes import Changes
from dashboard.server.kept import LONGEST
from netcommon.control import ControlClient
from netcommon.errors import EXIT_FAILED, EXIT_USAGE, LfpError

Act = Callable[[Any], Any]
Name = Annotated[str, StringConstraints(min_length=1, max_length=255)]
Text = Annotated[str, StringConstraints(max_length=200)]
Words = Annotated[list[Text], Field(max_length=tags.MOST)]
GatewaySetting = Annotated[str, StringConstraints(pattern=f"^({'|'.join(one.name for one in SETTINGS)})$")]
BoxParameter = Annotated[
    str, StringConstraints(pattern=f"^(({'|'.join(WAYS)})-)?({'|'.join(one.name for one in PARAMETERS)})$")
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class State(_Request):
    do: Literal["state"]


class Start(_Request):
    do: Literal["start"]
    setting: Annotated[dict[Name, int | Text], Field(max_length=len(CHOICES))]


class Cancel(_Request):
    do: Literal["cancel"]


class Delete(_Request):
    do: Literal["delete"]
    name: Name


class Tag(_Request):
    do: Literal["tag"]
    name: Name
    add: Words
    remove: Words


class Show(_Request):
    op: Literal["show"]


class SetGateway(_Request):
    op: Literal["set"]
    values: Annotated[dict[GatewaySetting, Text], Field(min_length=1, max_length=len(SETTINGS))]


class EndGateway(_Request):
    op: Literal["stop"]
    within: Text | None = None


class SetBox(_Request):
    op: Literal["set"]
    values: Annotated[dict[BoxParameter, Text], Field(min_length=1, max_length=len(PARAMETERS))]


RUNS: TypeAdapter[Any] = TypeAdapter(State | Start | Cancel | Delete | Tag)
GATEWAY: TypeAdapter[Any] = TypeAdapter(Show | SetGateway | EndGateway)
BOX: TypeAdapter[Any] = TypeAdapter(Show | SetBox)
READ_ONLY: TypeAdapter[Any] = TypeAdapter(Show)


def changing(changes: Changes) -> Act:
    """Does what `RUNS` allows."""

    def act(request: State | Start | Cancel | Delete | Tag) -> Any:
        match request:
            case State():
                return asdict(changes.demonstrations.state())
            case Start():
                return changes.demonstrations.start(setting_of(request.setting))
            case Cancel():
                return changes.demonstrations.cancel()
            case Delete():
                return changes.delete(request.name)
            case Tag():
                return changes.tag(request.name, add=request.add, remove=request.remove)

    return act


def asking(path: Path, client: type[ControlClient]) -> Act:
    """Asks the tool at a control socket what `GATEWAY` or `BOX` allows."""

    def act(request: _Request) -> Any:
        with client(path) as control:
            return control.request(request.model_dump(exclude_none=True))

    return act


def answered(request: bytes, allowed: TypeAdapter[Any], act: Act) -> bytes:
    """The answer to a message. No content of a message can end the keeper."""
    try:
        found: dict[str, Any] = {"ok": True, "answer": act(allowed.validate_json(request))}
    except LfpError as error:
        found = {"ok": False, "error": str(error), "status": error.status}
    except ValidationError:
        found = {"ok": False, "error": "the dashboard's keeper knows no such request", "status": EXIT_USAGE}
    except Exception as error:
        found = {"ok": False, "error": f"{type(error).__name__}: {error}", "status": EXIT_FAILED}
    text = json.dumps(found).encode()
    if len(text) <= LONGEST:
        return text
    return json.dumps({"ok": False, "error": "the answer is too long", "status": EXIT_FAILED}).encode()


def keep(channel: socket.socket, allowed: TypeAdapter[Any], act: Act) -> None:
    """Answers until the other end is closed."""
    while True:
        try:
            request = channel.recv(LONGEST + 1)
            if not request:
                return
            channel.send(answered(request, allowed, act))
        except OSError:
            return


def main() -> None:
    """Runs the keeper. The program's argument has the runs directory, the tools' sockets and the descriptor of each
    channel."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            number, lambda *_: None
        )  # ignored: this process ends after the server; a demonstration gets the signals itself
    given = json.loads(sys.argv[1])
    read_only, sockets = bool(given["read_only"]), given["sockets"]
    changes = Changes(Path(given["runs_dir"]))
    acts: dict[str, tuple[TypeAdapter[Any], Act]] = {} if read_only else {"runs": (RUNS, changing(changes))}
    if path := sockets.get("gateway"):
        acts["gateway"] = READ_ONLY if read_only else GATEWAY, asking(Path(path), lft_ref.Control)
    if path := sockets.get("box"):
        acts["box"] = READ_ONLY if read_only else BOX, asking(Path(path), comet_delay.Control)
    channels = {name: socket.socket(fileno=number) for name, number in given["channels"].items()}
    threads = [threading.Thread(target=keep, args=(channel, *acts[name])) for name, channel in channels.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    changes.demonstrations.close()


if __name__ == "__main__":
    main()
