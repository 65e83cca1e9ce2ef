"""The LFT gateway from Python: its launcher and a client of its control socket.

The gateway itself is the C daemon ``lft-gateway``. `FORMAT.md` specifies its wire protocol, `CONTROL.md` its control
protocol.
"""

from lft_ref.control import Control, ControlError
from lft_ref.gateway import TUNNEL_PORT, Gateway, Settings, wait_accelerating, write_key

__all__ = ["TUNNEL_PORT", "Control", "ControlError", "Gateway", "Settings", "wait_accelerating", "write_key"]
