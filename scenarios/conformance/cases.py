"""The table of cases: action, expectation, and the text that requires it. `--list`, the tables of results and the
reference page print it.

``path``: keys of [path] that differ from `PATH`. ``mtu``: MTU of the line between the routers from the beginning.
``cost``: a case's duration relative to a plain transfer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from scenarios.conformance import acts
from scenarios.conformance.acts import Act

PATH: Mapping[str, str | int] = MappingProxyType({"delay": "5ms", "rate": "100Mbit", "queue": "250KB", "mtu": 1500})
STREAM = "every octet arrives, in order, once"
GOES_ON = "it goes on, or ends at both ends within 2 min; new connections work within 30 s"


@dataclass(frozen=True)
class Case:
    """One row."""

    name: str
    does: str
    expects: str
    source: str
    act: Act
    path: Mapping[str, str | int] = field(default_factory=dict)
    mtu: int | None = None
    cost: float = 1.0


CASES = (
    Case("upload", "a client sends 8 MB", STREAM, "RFC 9293, 2.2", acts.transfer("up")),
    Case("download", "a server sends 8 MB", STREAM, "RFC 9293, 2.2", acts.transfer("down")),
    Case("both-ways", "4 MB each way at once, on one connection", STREAM, "RFC 9293, 2.2", acts.both_ways),
    Case("goodput", "20 MB on a clean line", "half of the line's rate", "RFC 6349, 3.3", acts.goodput),
    Case("exchanges", "2,500 messages of 1,000 octets to and fro", "none takes longer than its round trip and 100 ms",
         "RFC 9293, 3.7.4", acts.exchanges, cost=2),
    Case("single-octets", "500 writes of one octet", STREAM, "RFC 9293, 3.7.4", acts.single_octets),
    Case("half-close-client", "the client sends and closes its half; the server answers 1 s later",
         "the answer arrives whole", "RFC 9293, 3.6", acts.half_close("client")),
    Case("half-close-server", "the server sends and closes its half; the client answers 1 s later",
         "the answer arrives whole", "RFC 9293, 3.6", acts.half_close("server")),
    Case("no-data", "an end closes without an octet", "the other end sees the end of data", "RFC 9293, 3.6",
         acts.end_without_data),
    Case("last-words", "an end writes 1 octet to 1 MB and closes at once, 24 times", STREAM, "RFC 9293, 3.6",
         acts.last_words),
    Case("reset-client", "the client resets", "the server sees an error, not the end of data", "RFC 9293, 3.5.3",
         acts.reset_by("client")),
    Case("reset-server", "the server resets", "the client sees an error, not the end of data", "RFC 9293, 3.5.3",
         acts.reset_by("server")),
    Case("refused", "the client connects where nobody listens", "the client learns so within 10 s", "RFC 9293, 3.5.2",
         acts.refused),
    Case("silent", "the client connects to a server that answers nothing", "the client learns so within 5 min",
         "RFC 9293, 3.8.3", acts.silent),
    Case("early-data", "the client sends and closes its half at once; the server accepts 2 s later", STREAM,
         "RFC 9293, 3.5", acts.early_data),
    Case("small-objects", "10,000 objects of 1,000 octets, each on its own connection, 100 at a time",
         "every object whole", "RFC 9293, 3.5", acts.small_objects, cost=15),
    Case("beside-bulk", "500 connections get 2,000 octets each while a bulk transfer fills the path",
         "each within 5 s", "RFC 3135, 3.1", acts.beside_bulk, cost=4),
    Case("mtu-1280", "4 MB where the path's MTU is 1,280", STREAM, "RFC 8200, 5", acts.mtu_before("up"), mtu=1280),
    Case("mtu-1300", "4 MB back where the path's MTU is 1,300", STREAM, "RFC 1191, 3; RFC 8899",
         acts.mtu_before("down"), mtu=1300),
    Case("mtu-shrinks", "the path's MTU falls to 1,280 in mid-transfer, each way", STREAM, "RFC 1191, 3; RFC 8899",
         acts.mtu_shrinks(1280)),
    Case("loss", "the path loses 1 % each way", STREAM, "RFC 9293, 3.8", acts.path_of(), {"loss": "1%"}),
    Case("reordering", "5 % of the packets come 3 ms late, behind others", STREAM, "RFC 9293, 3.4", acts.path_of(),
         {"reorder": "5%", "reorder_by": "3ms"}),
    Case("duplication", "5 % of the packets come twice", STREAM, "RFC 9293, 3.4", acts.path_of(), {"duplicate": "5%"}),
    Case("corruption", "a bit of 0.5 % of the packets flips", STREAM, "RFC 9293, 3.1", acts.path_of(),
         {"corrupt": "0.5%"}),
    Case("outage-1s", "the path is silent for 1 s in mid-transfer", STREAM, "RFC 9293, 3.8.3", acts.outage(1)),
    Case("outage-10s", "the path is silent for 10 s in mid-transfer", STREAM, "RFC 9293, 3.8.3", acts.outage(10)),
    Case("outage-60s", "the path is silent for 60 s in mid-transfer", STREAM, "RFC 9293, 3.8.3", acts.outage(60)),
    Case("restart-near", "the near gateway is stopped and started in mid-transfer", GOES_ON, "RFC 9293, 3.5.1",
         acts.gateway_ends("near", kill=False)),
    Case("restart-far", "the far gateway is stopped and started in mid-transfer", GOES_ON, "RFC 9293, 3.5.1",
         acts.gateway_ends("far", kill=False)),
    Case("kill-near", "the near gateway is killed and started in mid-transfer", GOES_ON, "RFC 9293, 3.5.1",
         acts.gateway_ends("near", kill=True)),
    Case("kill-far", "the far gateway is killed and started in mid-transfer", GOES_ON, "RFC 9293, 3.5.1",
         acts.gateway_ends("far", kill=True)),
    Case("nat-rebinding", "a translator gives the near gateway another address in mid-transfer",
         "it goes on, or ends at both ends within 2 min; new connections work within 2 min",
         "RFC 4787, 4.3; RFC 9000, 9", acts.rebinding),
    Case("clock-forward", "the time of day jumps by 1 h in mid-transfer", STREAM, "POSIX, clock_settime",
         acts.clock(3600)),
    Case("clock-back", "the time of day jumps back by 1 h in mid-transfer", STREAM, "POSIX, clock_settime",
         acts.clock(-3600)),
    Case("descriptors", "each gateway may open 30 files more, and 100 clients come at once",
         "the gateways live; new connections work within 30 s after", "POSIX, EMFILE", acts.descriptors),
    Case("memory", "each gateway may map 32 MB more, and 64 servers do not read 1 MB each",
         "the gateways live; new connections work within 30 s after", "POSIX, ENOMEM", acts.memory, cost=2),
    Case("slow-readers", "20 servers do not read, while 8 MB go to another one", "a quarter of the line's rate",
         "RFC 9293, 3.8.6", acts.slow_readers, cost=2),
    Case("stalled-reader", "a server reads nothing until the client can write no more, and 10 s longer",
         "the client is stopped; then every octet arrives", "RFC 9293, 3.8.6.1", acts.stalled_reader),
    Case("idle", "a connection rests for 10 min", "then it carries octets both ways", "RFC 9293, 3.8.4; RFC 5382, 5",
         acts.idle),
)  # fmt: skip
BY_NAME = {case.name: case for case in CASES}
