"""What system calls cost the programs of a trial ([cpu]): in virtual time the guest's kernel charges them
(scenarios/virtual/patches/7/what-calls-cost.patch). Real time has its own costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from netcommon import process
from netcommon.errors import MissingError
from scenarios.plan.model import Cpu

_PRICE = Path(
    "/proc/call_cost"
)  # "<ns a call> <ps a byte>": the price for the process that writes it, and for those that it starts later
_PAYING = 'echo "$0" >"$1"; shift; exec "$@"'


@contextmanager
def priced(cpu: Cpu, whose: Literal["gateways", "hosts"]) -> Iterator[None]:
    """Programs that are started inside pay for their system calls as ``cpu`` says. MissingError where the guest's
    kernel cannot charge. A shell writes the price and then becomes the program. If this process wrote it, it would pay
    for all that Python does before the program runs, which differs between Python's versions."""
    if not cpu.has_price or cpu.of not in (whose, "all"):
        yield
        return
    if not _PRICE.exists():
        raise MissingError("cpu: this virtual-time kernel is older than Linux 7; run 'lfp virtual --build'")
    with process.behind("sh", "-c", _PAYING, f"{cpu.call} {cpu.byte_ps}", str(_PRICE)):
        yield
