"""comet-delay as a part of a path: started from the scenario's model of both directions."""

from __future__ import annotations

from pathlib import Path

from comet_delay import Port, run_argv
from netcommon.ledger import Ledger
from netcommon.process import Tool
from scenarios.model import Direction

READY_TIMEOUT_S = 15.0  # it prefaults its memory first


def parameters(direction: Direction, framing: str) -> dict[str, int | str]:
    """A direction as the box names it; what is 0 (none, or the box's own) is left out."""
    return {name: value for name, value in direction.model_dump().items() if value} | {"framing": framing}


def box(
    ports: tuple[Port, Port], control: Path, *, ab: Direction, ba: Direction, mtu: int, framing: str = "ip",
    seed: int = 1, log: Path | None = None, ledger: Ledger | None = None,
) -> Tool:  # fmt: skip
    """The box as a tool not yet started; its ``ready`` means that both ports exist and are up."""
    argv = run_argv(
        *ports, control, ab=parameters(ab, framing), ba=parameters(ba, framing), mtu=mtu, seed=seed
    )  # fmt: skip
    return Tool(argv, name="comet-delay", stderr_path=log, ledger=ledger)
