"""[transfer]: the data that is sent. Each key is one row, and everything else follows from it (keys.py).

A row of a new key goes to the end. Its column then is the last one of [transfer]'s, and the tool is given its value
where the row says so.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from netcommon import quantity
from scenarios.plan import keys
from scenarios.plan.keys import row
from scenarios.plan.values import MS, Flag, S, Table, of_option

CONGESTION = r"^[a-z0-9_]{1,15}(:[a-z0-9_.=,]+)?$"  # NAME or, for those of rttcp, NAME:KEY=VALUE,…
RTTCP_LENGTH = 8 * 1024  # size of a write, unless the scenario sets another


class Transfer(Table):
    """[transfer]: the data that is sent. A scenario gives ``bytes`` or ``duration``; with ``request`` and ``response``,
    which exchange messages one after the other, it gives ``exchanges`` or ``duration``. ``length`` None: rttcp writes
    RTTCP_LENGTH at once, iperf3 its own default. ``window`` None: the kernel sizes it. ``zerocopy`` None: only in
    virtual time, where copying costs wall time but takes no virtual time."""

    tool: Literal["rttcp", "iperf3"] = row(
        "rttcp",
        "iperf3: one flow, whole seconds, and a `window` that is its socket buffer. It gets only these options: the "
        "port, the profile's congestion control and window, and options for keys that the scenario sets",
    )
    bytes: Annotated[int, *of_option(quantity.BYTES, "transfer", "bytes")] | None = row(
        None,
        "amount of data",
        label="Amount",
        given=True,
        default="this or `duration`",
    )
    duration: Annotated[int, *of_option(quantity.DURATION, "transfer", "duration")] | None = row(
        None,
        "how long the sender writes data. The transfer ends when all of it is acknowledged, which takes a round "
        'trip and the send buffer longer, and with losses at the end much longer: 10.2 to 15.9 s for `"10s"`. '
        "The column `elapsed_ns` has the whole time, and throughput is over that. iperf3's server stops reading "
        "when the time is over: `elapsed_ns` ends there, and throughput counts what it has read by then",
        column="duration_ns",
        given=True,
        default="this or `bytes`",
    )
    request: Annotated[int, *of_option(quantity.BYTES, "transfer", "request")] | None = row(
        None,
        "the size of each request. With `response`: dependent exchanges over one connection, instead of bytes "
        "one way (rttcp's `--request`, `--response`). Not with `bytes`, `window`, `pace`, `second`, `bidir`, "
        '`verify`, `zerocopy` or iperf3; `length` and a profile\'s window do not apply. See "Request and response"',
        column="request_bytes",
        given=True,
    )
    response: Annotated[int, *of_option(quantity.BYTES, "transfer", "response")] | None = row(
        None,
        "the size of each response; see `request`",
        column="response_bytes",
        given=True,
    )
    exchanges: Annotated[int, *of_option(quantity.COUNT, "transfer", "exchanges")] | None = row(
        None,
        "number of exchanges",
        given=True,
        default="this or `duration`, with `request`",
    )
    omit: Annotated[int, *of_option(quantity.DURATION, "transfer", "omit")] = row(
        0,
        "warm-up: time at the beginning that the column `steady_bps` leaves out; `duration` begins after it. Not "
        "with iperf3",
        column="omit_ns",
        label="Warm-up left out",
        given=True,
        iperf3="as it is run here leaves nothing out",
    )
    parallel: Annotated[int, *of_option(quantity.COUNT, "transfer", "parallel")] = row(
        1,
        "streams of the one transfer (rttcp's `--parallel`), which share `bytes`, `exchanges` and `pace`; "
        "each has this `window`. `short_term_bps` is their sum. Columns, null with one stream: `stream_min_bps` "
        "and `stream_max_bps`, the streams' goodput from the transfer's beginning to each one's last octet, and "
        "`stream_jain`, Jain's index of the octets of each at the moment when the first one ended. Not with iperf3",
        label="Parallel streams",
        given=True,
        iperf3="as it is run here has one stream",
    )
    bidir: Flag = row(
        False,
        "both directions at once (rttcp's `--bidir`): `bytes`, `parallel` (64 at most then), `pace` and the "
        "congestion control hold for each direction. `reverse_bps` is the throughput from receiver to sender; "
        '`reverse_lost_…`, `reverse_retransmits` and the like describe that direction ("Request and response"). '
        "The other measured columns describe the direction from sender to receiver; those that come from "
        "captures, its connection with the most data. Not with `second`, `request` or iperf3",
        label="Both ways at once",
        given=True,
        iperf3="as it is run here sends one way",
    )
    length: Annotated[int, *of_option(quantity.BYTES, "transfer", "length")] | None = row(
        None,
        "bytes of each write. Without it rttcp writes 8 KB, and iperf3 its own 128 KB. How much fits into a small "
        "send buffer depends on it",
        column="length_bytes",
        label="Write length",
    )
    window: Annotated[int, *of_option(quantity.BYTES, "transfer", "window")] | None = row(
        None,
        "the TCP window that the receiver offers, not a socket buffer (rttcp's `--window`)",
        column="window_bytes",
        default="the kernel's",
    )
    pace: Annotated[int, *of_option(quantity.RATE, "transfer", "pace", zero=True)] = row(
        0,
        "rate to which the sending kernel paces the payload; 0: none",
        column="sender_pace_bps",
        label="Pacing by the sender",
        null=True,
        given=True,
        iperf3="as it is run here has no pacing",
    )
    pace_burst: Annotated[int, *of_option(quantity.BYTES, "transfer", "pace_burst", zero=True)] = row(
        0,
        "with `pace`: what the sender writes at once, before it sleeps (rttcp's `--pace-burst`), instead of the "
        "kernel's pacing to that rate. At 6 Gbit/s on a virtual machine this saves a third of the processor "
        "time; the path's queue has to hold three bursts. 0: the kernel paces every packet",
        column="sender_pace_burst_bytes",
        label="Burst of the paced sender",
        null=True,
        given=True,
    )
    congestion: str | None = row(
        None,
        "congestion control of both ends; those of rttcp take parameters: `lfp_xys:x=4,y=64`",
        label="Congestion control",
        pattern=CONGESTION,
        allowed="name",
        default="the profile's",
    )
    second: str | None = row(
        None,
        "congestion control of a second flow that runs at the same time, all else equal. The column `second_bps` "
        "has its rate over its own time, and `flow_share` the first flow's share while both ran",
        label="Second flow",
        pattern=CONGESTION,
        iperf3="has one congestion control a run",
        allowed="name",
    )
    plain: Flag = row(
        False,
        "a bulk flow of plain TCP (CUBIC) during the transfer, from router to router, so that it bypasses the "
        "gateways. The column `plain_bps` has its rate. Only with `duration`; not with iperf3 or `[flow.NAME]`, "
        "and on the dumbbell alone",
        label="Concurrent plain TCP transfer",
        iperf3="as it is run here has no concurrent transfers",
    )
    short: Annotated[int, *of_option(quantity.BYTES, "transfer", "bytes", zero=True)] | None = row(
        None,
        "short transfers of this many bytes, one after the other, during the transfer and through the gateways, "
        "each over new connections. Columns: `shorts` (how many ended before the transfer), "
        "`short_median_ns`, `short_max_ns`. Only with `duration`; not with iperf3 or `[flow.NAME]`, and only on "
        "the dumbbell",
        column="short_bytes",
        label="Size of concurrent short transfers",
        null=True,
        iperf3="as it is run here has no concurrent transfers",
    )
    nodelay: Flag = row(
        False,
        "switches Nagle's algorithm off",
        label="Nagle's algorithm off",
        given=True,
    )
    verify: Flag = row(
        False,
        "rttcp checks every octet where it arrives (its `--verify`). The column `verified` says `ok`; a trial "
        "with a wrong octet or digest has failed. Not with `zerocopy`, `request` or iperf3",
        label="Content checked",
        given=True,
        iperf3="does not check content",
    )
    zerocopy: Flag | None = row(
        None,
        "rttcp copies content at neither end (its `--zerocopy --skip-rx-copy`)",
        label="Transfer without copies",
        iperf3="as it is run here copies",
        default="in virtual time without `verify`",
    )
    sample: Annotated[int, *of_option(quantity.DURATION, "transfer", "sample", zero=True)] = row(
        10 * MS,
        "time between TCP_INFO samples; 0: no samples. rttcp takes them at each end that sends data: with "
        "request and response, and with `bidir`, the receiver's are in `reverse/tcp_info.parquet` of the trial. "
        "For iperf3 `rttcp watch` asks the sender's kernel about the data connection (sock_diag(7)) until iperf3 "
        "ends. Its samples have `local_port` and `remote_port`, but not `opening_bytes` and `waiting_bytes`, "
        "which only the program itself knows. They say what limited the sender where captures do not show it, in "
        "either direction",
        column="sample_ns",
        label="Interval of TCP_INFO samples",
    )
    interval: Annotated[int, *of_option(quantity.DURATION, "transfer", "interval")] = row(
        S,
        "length of the intervals in which both ends count bytes (rttcp's `--interval`). `peak_bps` is the "
        "receiver's best full interval; the bytes behind a lost segment count when it is repaired, so `peak_bps` "
        "can exceed the line's rate. Without captures `recovery_ns` has this resolution. Not with iperf3, whose "
        "server counts seconds",
        column="interval_ns",
        label="Interval of the byte counts",
        given=True,
        iperf3="as it is run here reports each second",
    )
    timeout: Annotated[int, *of_option(quantity.DURATION, "transfer", "timeout")] = row(
        60 * S,
        "time without a byte after which the transfer is given up (rttcp's `--timeout`). A gateway that repairs "
        "slowly takes data from its host in large pieces, which may be minutes apart. Not with iperf3",
        column="timeout_ns",
        label="Time-out without a byte",
        given=True,
        iperf3="as it is run here waits for as long as run.timeout",
    )
    family: Literal["ipv4", "ipv6"] = row(
        "ipv4",
        "IPv4 or IPv6",
        label="IP version",
    )
    dscp: Annotated[int, *of_option(quantity.COUNT, "transfer", "dscp")] = row(
        0,
        "differentiated services code point of the data connections (rttcp's `--dscp`): 46 is EF. Packets "
        "carry it along the whole path; no queue of the delay box looks at it. Not with iperf3",
        label="DSCP",
        given=True,
        iperf3="as it is run here sets no code point",
    )

    @property
    def both_ways(self) -> bool:
        """Whether the receiver sends data, too: responses, or the reverse direction of ``bidir``."""
        return self.bidir or self.request is not None

    @property
    def streams(self) -> int:
        """Data connections of the transfer."""
        return self.parallel * (2 if self.bidir else 1)

    @property
    def write_bytes(self) -> int | None:
        """Size of the tool's writes; None: iperf3's default."""
        return self.length or (RTTCP_LENGTH if self.tool == "rttcp" else None)

    @model_validator(mode="after")
    def _one_amount(self) -> Transfer:
        if self.request is not None or self.response is not None or self.exchanges is not None:
            self._check_exchanges()
        elif (self.bytes is None) == (self.duration is None):
            raise ValueError("give either 'bytes' or 'duration'")
        return self

    @model_validator(mode="after")
    def _what_the_tool_can(self) -> Transfer:
        """ValueError for settings that the tool cannot do: checking content, or several streams."""
        if self.tool == "iperf3" and (wrong := self._not_of_iperf3()):
            raise ValueError(wrong)
        if self.bidir and self.second:
            raise ValueError("'second': not with 'bidir', whose second flow goes the other way; drop one of them")
        for key in ("plain", "short"):
            if getattr(self, key) and self.duration is None:
                raise ValueError(f"'{key}': only with a transfer of a given 'duration'; give 'duration'")
        if self.bidir and self.parallel > 64:
            raise ValueError("'parallel': at most 64 streams each way with 'bidir'; lower it, or drop 'bidir'")
        if self.pace_burst and not self.pace:
            raise ValueError("'pace_burst': what a paced sender writes at once; give 'pace' too, or drop it")
        if self.verify and self.zerocopy:
            raise ValueError("'verify': not with 'zerocopy', which leaves the content unread; drop one of them")
        return self

    def _not_of_iperf3(self) -> str | None:
        """A setting that iperf3, as it is run here, does not support, or None."""
        for key, own in keys.rows(Transfer):
            if own.iperf3 and getattr(self, key) not in (None, False, 0, Transfer.model_fields[key].default):
                return f"'{key}': iperf3 {own.iperf3}; use tool = \"rttcp\""
        if self.duration is not None and self.duration % S:
            return "'duration': iperf3 takes whole seconds; want for example 2s, or use tool = \"rttcp\""
        if self.congestion and ":" in self.congestion:
            return "'congestion': iperf3 takes a name alone; drop what follows ':', or use tool = \"rttcp\""
        return None

    def _check_exchanges(self) -> None:
        """ValueError for settings of one-way transfers combined with request and response."""
        if self.request is None or self.response is None:
            raise ValueError("give both 'request' and 'response'; 'exchanges' needs them")
        if (self.exchanges is None) == (self.duration is None):
            raise ValueError("with 'request' give either 'exchanges' or 'duration'")
        if self.tool != "rttcp":
            raise ValueError(f'tool "{self.tool}" has no request and response; use tool = "rttcp"')
        for key in ("bytes", "window", "second", "plain", "short", "bidir", "verify", "zerocopy", "pace"):
            if getattr(self, key):
                raise ValueError(f"'{key}': not with 'request', whose messages flow both ways")
