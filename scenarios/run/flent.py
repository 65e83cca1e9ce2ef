"""Trials as Flent files (`NAME.flent.gz`, format 4), for its plots and for comparisons with its results.

A stream's rate is what its receiver acknowledged, in steps of Flent's 0.2 s, from the samples of TCP_INFO. Latencies
are those of a flow of requests, in place of Flent's pings; a trial without such a flow has none.
Series have the names of Flent's tests `tcp_nup` and `rrul_be_nflows`, so `flent -i FILE -p totals` and `-p all` draw
them. Rejected: writing with Flent's library, which brings its whole command line for one JSON object.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from netcommon import trial_tables
from netcommon.errors import EXIT_FAILED, LfpError, UsageError
from scenarios.run import runs
from scenarios.trial import clock
from scenarios.trial.files import read_json
from scenarios.trial.sharing import FLOWS

VERSION = 4
STEP_S = 0.2
SAMPLES, REVERSE, LATENCIES = "tcp_info.parquet", "reverse", "latencies.parquet"
_PING = "Ping (ms) ICMP"
F64 = NDArray[np.float64]


def write(run_dir: Path, folder: Path) -> list[Path]:
    """Writes a file for each trial that has samples into `folder`, which is made if needed; returns the paths."""
    sampled = [trial for trial in runs.trial_folders(run_dir) if (trial / SAMPLES).is_file()]
    if not sampled:
        raise LfpError(f"--flent: no trial of {run_dir.name} has samples of TCP_INFO (transfer.sample)", EXIT_FAILED)
    title = str(runs.manifest(run_dir).get("title") or run_dir.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_written(folder / f"{run_dir.name}-{trial.name}.flent.gz", of_trial(trial, title)) for trial in sampled]
    except OSError as error:
        raise UsageError(f"--flent {folder}: {error.strerror}; name a folder that can be written") from error


def of_trial(trial: Path, title: str) -> dict[str, Any]:
    """The JSON object of a trial's folder. `title`: the run's."""
    began = {name: _began_ns(trial, name) for name in ("realtime", "monotonic")}
    up, down = (list(_streams(trial, home, began["monotonic"])) for home in (trial, trial / REVERSE))
    pings = [_latencies(file, began["monotonic"]) for file in sorted(trial.rglob(LATENCIES))]
    ends = [t_s[-1] for t_s, _ in (*up, *down)]
    grid: F64 = STEP_S * np.arange(1, max(2, int(np.ceil(max(ends) / STEP_S)) + 1), dtype=np.float64)
    both = " BE" if down else ""
    results = {f"TCP upload{both}::{number}": _rates(grid, *one) for number, one in enumerate(up, 1)}
    results |= {f"TCP download{both}::{number}": _rates(grid, *one) for number, one in enumerate(down, 1)}
    for way in ("upload", "download"):
        own = [values for name, values in results.items() if name.startswith(f"TCP {way}")]
        if own:
            total, running = np.nansum(own, axis=0), np.isfinite(own).sum(axis=0)
            results |= {f"TCP {way} sum": total, f"TCP {way} avg": total / np.maximum(running, 1)}
    if pings:
        results[_PING] = _means(grid, *(np.concatenate(one) for one in zip(*pings, strict=True)))
    began_s = began["realtime"] / 1e9
    return {
        "version": VERSION,
        "metadata": _metadata(trial, title, began_s, float(grid[-1]), len(up), len(down)),
        "x_values": [round(float(x), 3) for x in grid],
        "results": {name: _listed(values) for name, values in results.items()},
        "raw_values": {
            name: [{"t": began_s + x, "val": value} for x, value in zip(grid.tolist(), _listed(values), strict=True)]
            for name, values in results.items()
        },
    }


def _began_ns(trial: Path, of: Literal["realtime", "monotonic"]) -> int:
    """Zero of the trial's time axis on a clock: when the transfer began; without that, when the trial began."""
    pair = (read_json(trial / "status.json") or {}).get("clock") or {}
    return int(clock.origin_ns(read_json(trial / "transfer.json") or {}, of) or pair.get(f"{of}_ns") or 0)


def _metadata(trial: Path, title: str, began_s: float, length_s: float, up: int, down: int) -> dict[str, Any]:
    began = datetime.fromtimestamp(began_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {
        "NAME": "rrul_be_nflows" if down else "tcp_nup",
        "TITLE": f"{title}, trial {int(trial.name)}",
        "T0": began,
        "TIME": began,
        "STEP_SIZE": STEP_S,
        "LENGTH": length_s,
        "TOTAL_LENGTH": length_s,
        "HOST": "lfp",
        "LOCAL_HOST": "lfp",
        "TEST_PARAMETERS": {"upload_streams": str(up), "download_streams": str(down)},
        "SERIES_META": {},
        "NOTE": f"written by lfp from {trial.parents[1].name}",
        "lfp": read_json(trial / "params.json"),
    }


def _streams(trial: Path, home: Path, zero_ns: int) -> Iterator[tuple[F64, F64]]:
    """Times in s and acknowledged octets of each stream of bulk data below `home`, those of [transfer] first."""
    for file in (home / SAMPLES, *sorted((home / FLOWS).glob(f"*/{SAMPLES}"))):
        asks = trial / file.parent.relative_to(home) / LATENCIES
        if not file.is_file() or asks.is_file():
            continue
        table = trial_tables.read(file)
        t_ns, acked, stream = (table[column].to_numpy() for column in ("t_ns", "bytes_acked", "stream"))
        for number in np.unique(stream[acked > 1]):  # one octet is the SYN: that stream only receives
            yield (t_ns[stream == number] - zero_ns) / 1e9, acked[stream == number].astype(np.float64)


def _latencies(file: Path, zero_ns: int) -> tuple[F64, F64]:
    """Times in s and latencies in ms of a flow's exchanges."""
    table = trial_tables.read(file)
    return (table["t_ns"].to_numpy() - zero_ns) / 1e9, table["latency_ns"].to_numpy() / 1e6


def _rates(grid: F64, t_s: F64, octets: F64) -> F64:
    """Mbit/s in the step before each time of the grid; NaN before the stream's first and after its last sample."""
    counts = np.interp(np.append(grid[0] - STEP_S, grid), t_s, octets)
    inside = (grid > t_s[0]) & (grid - STEP_S < t_s[-1])
    return np.where(inside, np.diff(counts) * 8 / 1e6 / STEP_S, np.nan)


def _means(grid: F64, t_s: F64, values: F64) -> F64:
    """The mean of the values in the step before each time of the grid; NaN without any."""
    edges = np.append(grid[0] - STEP_S, grid)
    counts, _ = np.histogram(t_s, edges)
    sums, _ = np.histogram(t_s, edges, weights=values)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _listed(values: F64) -> list[float | None]:
    return [round(value, 6) if np.isfinite(value) else None for value in values.tolist()]


def _written(path: Path, content: dict[str, Any]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(content, file)
    return path
