"""Carries frames between the TAP `v0` of this network namespace and the TAP `v0` of another: a box with no delay.

usage: pktlogger_pump.py /run/netns/OTHER      prints `ready`, ends with SIGTERM
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
FRAME_MAX = 65536


def open_tap() -> int:
    """The TAP v0 of the namespace that the process is in."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"v0", IFF_TAP | IFF_NO_PI))
    return tap


def main() -> None:
    """Opens both ends and pumps."""
    near = open_tap()
    other = os.open(sys.argv[1], os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(other, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns", sys.argv[1])
    far = open_tap()
    print("ready", flush=True)
    peer = {near: far, far: near}
    while True:
        for tap in select.select(list(peer), [], [])[0]:
            frame = os.read(tap, FRAME_MAX)
            try:
                os.write(peer[tap], frame)
            except OSError:
                continue  # the far interface is not up yet


if __name__ == "__main__":
    main()
