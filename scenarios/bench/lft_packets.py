"""lft.packets: what a pair of gateways carries of small and of large packets, as router and as proxy.

The table 2 of comet-2004. RTT 20 ms and a limit of 800 Mbit/s. The sender's segments are 88 octets or a full packet, and its
interface leaves no segmentation to the next one, so that each segment is a packet of its own on the way to the gateway.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lft_ref import Settings
from netcommon.ledger import Ledger
from rttcp import DEFAULT_PORT
