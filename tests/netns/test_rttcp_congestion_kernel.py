"""HighSpeed and Scalable of rttcp/cc against the kernel's own modules, in the virtual-time kernel, which has all four.

The same packets are lost to each (scenario cc-kernel), so goodput and window over time differ by the algorithm alone.
Guests' clocks take no notice of how busy this machine is.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from scenarios.virtual import kernel

pytestmark = [
    pytest.mark.netns,
    pytest.mark.virtual,
    pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing())),
]

ROOT = Path(__file__).resolve().parents[2]
AGREE = 0.10  # allowed difference; measured 1.3 % and less
LFP = [sys.executable, "-m", "lfp"]


def window(trial: Path, times_s: np.ndarray) -> np.ndarray:
    """The window in segments at these times since the first sample; NaN in recovery."""
    columns = ["t_ns", "snd_cwnd", "ca_state"]
    t_ns, cwnd, state = (
        column.to_numpy() for column in parquet.read_table(trial / "tcp_info.parquet", columns=columns).columns
    )
    at = np.searchsorted((t_ns - t_ns[0]) / 1e9, times_s, side="right") - 1
    return np.asarray(np.where(state[at] == 0, cwnd[at], np.nan), dtype=float)


@pytest.mark.parametrize("own, ours", [("highspeed", "lfp_hstcp"), ("scalable", "lfp_scalable")])
def test_ours_is_the_kernels(tmp_path: Path, own: str, ours: str) -> None:
    values = [f"transfer.congestion={own},{ours}", "transfer.duration=8s"]
    sets = [word for value in values for word in ("--set", value)]
    argv = [*LFP, "run", "cc-kernel", "--time", "virtual", "--runs-dir", str(tmp_path), *sets]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = tmp_path.iterdir()
    bps, windows = {}, {}
    for folder in sorted((run / "trials").iterdir()):
        name = json.loads((folder / "params.json").read_text())["congestion"]
        summary = json.loads((folder / "transfer.json").read_text())["summary"]
        assert summary["retransmits"] >= 2, "both lost what ends slow start and one more"
        bps[name] = summary["short_term_bps"]
        windows[name] = window(folder, np.arange(1, 8, 0.05))
    assert bps[ours] == pytest.approx(bps[own], rel=AGREE), bps
    off = np.abs(windows[ours] / windows[own] - 1)
    assert np.isfinite(off).mean() > 0.9, "hardly a time outside recovery"
    assert np.nanmax(off) < AGREE, f"window off by {np.nanmax(off):.1%} at {1 + 0.05 * int(np.nanargmax(off)):.2f} s"
