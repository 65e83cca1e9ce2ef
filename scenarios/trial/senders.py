"""What a trial knows of its sending programs that captures do not show, for ``pktlogger analyse`` (FORMAT.md section 3,
"Samples"): whether they always have data, when they had written the last of it, and their congestion controls. Samples
of TCP_INFO also show what was queued in their sockets, what their kernels waited for, and their time-outs. rttcp
samples its own sockets at each end that sends data, and iperf3's sockets at the sender. How much data iperf3 has yet to
write is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netcommon import trial_tables
from scenarios.plan import flows
from scenarios.plan.model import Scenario
from scenarios.trial import captured, transfers
from scenarios.trial.files import read_json

if TYPE_CHECKING:
    import pyarrow as pa

_LEAST_OPENING = 32 * 1024  # of pktlogger's option
_NEEDED = ("t_ns", "stream", "notsent_bytes")
# Fields that some kernels and versions lack.
_MORE = (
    "queued_bytes", "sndbuf_bytes", "total_rto", "opening_bytes", "max_pacing_rate_bytes_per_s",
    "pacing_rate_bytes_per_s", "snd_ssthresh", "snd_cwnd", "ca_state", "rwnd_limited_us", "sndbuf_limited_us",
    "waiting_bytes", "unacked", "snd_wnd", "bytes_sent", "bytes_retrans",
)  # fmt: skip


@contextmanager
def analysis_options(setting: Scenario, folder: Path) -> Iterator[list[str]]:
    """The options. A file that they name exists inside the block."""
    options, samples = ["--always-data"] if always_have_data(setting) else [], folder / "queued.csv"
    if options and (opening := _opening_bytes(setting, folder)) > _LEAST_OPENING:
        options += ["--opening", f"{opening}B"]
    if _write(setting, folder, samples):
        options += ["--samples", str(samples)]
    try:
        yield options
    finally:
        samples.unlink(missing_ok=True)


def always_have_data(setting: Scenario) -> bool:
    """Whether the programs of all flows have data to send at every moment. rttcp and iperf3 write without pause, with
    three exceptions. With request and response the ends wait for each other. A paced sender may wait for its own timer.
    iperf3 may be late where system calls cost time; rttcp may be too, but its samples show when."""
    return all(_always(one) for one in flows.of(setting))


def _always(one: flows.One) -> bool:
    cpu, transfer = one.setting.cpu, one.setting.transfer
    late = transfer.tool == "iperf3" and cpu.of != "gateways" and bool(cpu.call or cpu.rate)
    return transfer.request is None and not transfer.pace and not late


def _write(setting: Scenario, folder: Path, target: Path) -> bool:
    """Writes the samples of all flows of a trial into the file ``target``. False where there are none."""
    tables = list(_tables(setting, folder))
    if tables:
        import pyarrow as pa
        import pyarrow.csv as csv

        table = pa.concat_tables(tables, promote_options="default")  # a field that a table lacks becomes empty
        with target.open("wb") as file:  # pyarrow before 23 would write quotes around the names in its header
            file.write(",".join(table.column_names).encode() + b"\n")
            csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style="none"))
    return bool(tables)


def _ends(setting: Scenario, folder: Path) -> Iterator[tuple[flows.One, dict[str, Any]]]:
    """Each flow, and what its tool reported."""
    transfer = read_json(folder / "transfer.json") or {}
    for one in flows.of(setting):
        yield one, (transfer.get(transfers.FLOWS) or {}).get(one.name, {}) if one.number else transfer


def _opening_bytes(setting: Scenario, folder: Path) -> int:
    """The largest opening of a stream, in bytes. With a window, rttcp opens a transfer by writing one window at a time
    and waiting for its acknowledgement."""
    senders = [end.get("sender") or {} for _, end in _ends(setting, folder)]
    found = [(sender.get("opening_bytes") or 0) // len(sender.get("streams") or [0]) for sender in senders]
    return max(found)


def _tables(setting: Scenario, folder: Path) -> Iterator[pa.Table]:
    for one, end in _ends(setting, folder):
        for home, sender in ((folder, end.get("sender")), (folder / captured.REVERSE, captured.sent_back(end))):
            file = transfers.folder_of(home, one) / "tcp_info.parquet"
            if file.is_file() and sender and sender.get("streams") and "t0_realtime_ns" in sender:
                yield from _table(file, sender, one, _window_fixed(one, end) if home == folder else 0)


def _window_fixed(one: flows.One, end: dict[str, Any]) -> int:
    """The largest window that each connection's receiver offers, where its program fixed it; 0: it may grow, or a
    gateway receives."""
    behind = one.setting.gateway.kind != "none"
    return 0 if behind else int((end.get("receiver") or {}).get("window_granted_bytes") or 0)


def _table(file: Path, sender: dict[str, Any], flow: flows.One, window_fixed: int) -> Iterator[pa.Table]:
    """The samples of one flow under pktlogger's names, with times in CLOCK_REALTIME. Nothing where they lack a needed
    field."""
    import numpy as np
    import pyarrow as pa

    names = set(trial_tables.names(file))
    if not set(_NEEDED) <= names:
        return
    more = [name for name in _MORE if name in names]
    table = trial_tables.read(file, [*_NEEDED, *more])
    t_ns, stream = table["t_ns"].to_numpy(), table["stream"].to_numpy()
    rows = {int(row["stream"]): row for row in sender["streams"]}
    known = np.isin(stream, list(rows))
    if not known.any():
        return
    offset_ns = int(sender["t0_realtime_ns"]) - int(sender["t0_monotonic_ns"])
    numbers, place = np.unique(stream[known], return_inverse=True)
    own = [_of_stream(rows[number], sender, flow) for number in numbers.tolist()]
    yield pa.table(
        {
            "t_ns": t_ns[known] + offset_ns,
            **{name: np.asarray([row[name] for row in own])[place] for name in own[0]},
            **{name: table[name].to_numpy()[known] for name in ("notsent_bytes", *more)},
            "always_data": np.full(place.size, int(_always(flow))),
            "transfer": np.full(place.size, flow.number + 1),
            "window_fixed_bytes": np.full(place.size, window_fixed),
        }
    )


def _of_stream(row: dict[str, Any], sender: dict[str, Any], one: flows.One) -> dict[str, Any]:
    """Constants of a stream: its ports, its congestion control, and when its program had written all data (0: unknown).
    With request and response an end's last octet may be one that it read."""
    ports = {f"{end}_port": int(row[end].rpartition(":")[2]) for end in ("local", "remote")}
    known = row.get("last_byte_ns") and one.setting.transfer.request is None
    written_ns = int(sender["t0_realtime_ns"]) + int(row["last_byte_ns"]) if known else 0
    return ports | {"written_ns": written_ns, "congestion": row.get("congestion") or ""}
