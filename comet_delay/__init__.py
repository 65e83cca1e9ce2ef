"""The delay box from Python: its launcher, its command line, and a client of its control socket.

The box itself is the C daemon ``comet-delay``; `comet_delay/CONTROL.md` specifies its control protocol.
"""

from comet_delay.command import Port, run_argv
from comet_delay.control import Control, ControlError

__all__ = ["Control", "ControlError", "Port", "run_argv"]
