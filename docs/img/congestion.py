"""Draw the pictures of docs/explanation/xys.md, cpeak.md and fig1.md again: `python docs/img/congestion.py KIND RUN…`.

RUN is a run directory.

- `window RUN…` writes xys-window.png: throughput and s by window with 95 % intervals, of runs of lfp-xys together.
- `over-time RUN --trial N…` writes xys.png: cwnd, x, y and s of trials of one run.
- `cpeak FIG2_RUN GROWTH_RUN` writes cpeak.png: the window over time next to Reno's, a growth curve with its equation.
- `fig1 RUN…` writes fig1.png: the average of a session by its length, of the longest trial of each case and window of
  comet-fig1-sessions.
- `tables RUN…` prints the tables of xys.md.
- `cpeak-tables RUN…` prints the tables of cpeak.md, from runs of cpeak-tab1, cpeak-tab2 and cpeak-loss.

Needs playwright and Debian's chromium, and no network.
"""

from __future__ import annotations

import json
import tempfile
from collections import defaultdict
from pathlib import Path

import click
import numpy as np
import plotly.graph_objects as go
import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright
from plotly.subplots import make_subplots

from dashboard.core import congestion
from dashboard.core.congestion_figure import congestion_figure
from dashboard.core.intervals import interval
from dashboard.core.runs import load_run
from dashboard.core.theme import AXIS, GREY, LAYOUT, SERIES_COLOURS
from netcommon import readable

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
DASHES = ("solid", "dot", "dash")
ARGS = ["--no-sandbox", "--disable-background-networking"]
Cells = dict[tuple[str, int], tuple[list[float], list[float]]]  # (congestion, KB): Mbit/s, s


def shoot(figure: go.Figure, name: str, width: int, height: int) -> None:
    """Saves a figure as a picture of this folder."""
    figure.update_layout(width=width, height=height)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = Path(folder) / "figure.html"
        figure.write_html(page_file, include_plotlyjs=True)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(page_file.as_uri())
        page.wait_for_selector(".main-svg")
        page.wait_for_timeout(500)
        page.locator(".plotly-graph-div").screenshot(path=HERE / f"{name}.png")
        browser.close()
    click.echo(f"{HERE / name}.png: {(HERE / f'{name}.png').stat().st_size} bytes")


def cells(runs: tuple[str, ...]) -> Cells:
    """Valid trials of all runs by congestion control and window."""
    found: Cells = defaultdict(lambda: ([], []))
    for path in runs:
        for row in load_run(Path(path)).rows:
            if row.get("valid") and row.get("short_term_bps"):
                mbit, s = found[str(row["congestion"]), int(row["window_bytes"]) // 1024]
                mbit.append(row["short_term_bps"] / 1e6)
                s.append(row["stopped_share"] or 0.0)
    return found


@click.group()
def main() -> None:
    """Pictures of docs/explanation/xys.md and docs/explanation/cpeak.md."""


@main.command()
@click.argument("runs", nargs=-1, required=True)
def window(runs: tuple[str, ...]) -> None:
    """Throughput and s by window."""
    found = cells(runs)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.6, 0.4])
    for number, name in enumerate(dict.fromkeys(name for name, _ in found)):
        windows = sorted(kb for own, kb in found if own == name)
        colour, dash = SERIES_COLOURS[number % 6], ("solid", "dash")[number // 6 % 2]
        for row in (1, 2):
            values = [found[name, kb][row - 1] for kb in windows]
            intervals = [interval(value) for value in values]
            figure.add_scatter(
                x=windows,
                y=[float(np.mean(value)) for value in values],
                error_y={"type": "data", "array": [v.half if v else 0 for v in intervals], "thickness": 1.5},
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                mode="lines+markers",
                line={"color": colour, "width": 2, "dash": dash},
                row=row,
                col=1,
            )
    figure.update_layout(**LAYOUT, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_layout(margin={"t": 20, "r": 20})
    ticks = [8, 16, 32, 64, 128, 192, 256, 384, 520]
    figure.update_xaxes(**AXIS, type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks])
    figure.update_yaxes(**AXIS, rangemode="tozero")
    figure.update_yaxes(title_text="Mbit/s", row=1, col=1)
    figure.update_yaxes(title_text="s, stopped share", row=2, col=1)
    figure.update_xaxes(title_text="Window (KB)", row=2, col=1)
    shoot(figure, "xys-window", 1100, 760)


@main.command("over-time")
@click.argument("run")
@click.option("--trial", "trials", type=int, multiple=True, required=True)
def over_time(run: str, trials: tuple[int, ...]) -> None:
    """cwnd, x, y and s of trials over time."""
    loaded = load_run(Path(run))
    controls = [found for trial in trials if (found := congestion.load(loaded, trial))]
    shoot(congestion_figure(controls), "xys", 1100, 900)


@main.command()
@click.argument("fig2")
@click.argument("growth")
def cpeak(fig2: str, growth: str) -> None:
    """The window of Reno and of cpeak over time, and one growth curve with the paper's equation."""
    figure = make_subplots(rows=2, cols=1, vertical_spacing=0.14, row_heights=[0.5, 0.5])
    run = load_run(Path(fig2))
    for number, trial in enumerate(run.trial_numbers()):
        found = congestion.load(run, trial)
        if found:
            early = found.t_s < 15
            figure.add_scatter(
                x=found.t_s[early],
                y=found.cwnd[early],
                name=found.name,
                mode="lines",
                line={"color": SERIES_COLOURS[1 - number % 2], "width": 2},
                row=1,
                col=1,
            )
    run = load_run(Path(growth))
    found = congestion.load(run, run.trial_numbers()[0])
    if found:
        samples = pq.read_table(run.trial(found.trial).path / "tcp_info.parquet", columns=["delivered"])
        _add_growth(figure, found, samples["delivered"].to_numpy())
    figure.update_layout(**LAYOUT, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_layout(margin={"t": 20, "r": 20})
    figure.update_xaxes(**AXIS, title_text="Time (s)")
    figure.update_yaxes(**AXIS, title_text="cwnd (segments)", rangemode="tozero")
    shoot(figure, "cpeak", 1100, 800)


def _add_growth(figure: go.Figure, found: congestion.Control, delivered: np.ndarray) -> None:
    """From the first loss to the second: measured, and the equation summed over the same acknowledged segments."""
    lost = np.flatnonzero(found.open[:-1] & ~found.open[1:])
    start = int(np.flatnonzero(found.open & (np.arange(found.open.size) > lost[0]))[0])
    end = int(lost[1]) if lost.size > 1 else found.open.size - 1
    peak, model = 2 * found.ssthresh[start], [float(found.cwnd[start])]
    for acked in np.diff(delivered[start : end + 1].astype(np.int64)):
        w = model[-1]
        for _ in range(int(acked)):
            w += (abs(w - peak / 2) / w * abs(peak - w) / w * peak / 2 + 1) / w
        model.append(w)
    t = found.t_s[start : end + 1]
    for x, y, name, colour, dash in (
        (t, found.cwnd[start : end + 1], "lfp_cpeak, one loss", SERIES_COLOURS[0], "solid"),
        (t, model, "equation", GREY, "dash"),
        ([t[0], t[-1]], [peak, peak], "c_peak", GREY, "dot"),
    ):
        line = {"color": colour, "width": 2, "dash": dash}
        figure.add_scatter(x=x, y=y, name=name, mode="lines", line=line, row=2, col=1)


@main.command()
@click.argument("runs", nargs=-1, required=True)
def fig1(runs: tuple[str, ...]) -> None:
    """The running average since a session's beginning: the rate that a session of each length would have."""
    longest: dict[tuple[str, int], tuple[int, Path]] = {}
    for path in runs:
        run = load_run(Path(path))
        for row in run.rows:
            key, length = (str(row["case"]), int(row["window_bytes"])), int(row["duration_ns"])
            if row.get("valid") and length > longest.get(key, (0,))[0]:
                longest[key] = length, run.trial(int(row["trial"])).path
    figure = go.Figure()
    cases, windows = (sorted({key[part] for key in longest}) for part in (0, 1))
    for (case, window_bytes), (_, folder) in sorted(longest.items(), key=lambda one: (-one[0][1], one[0][0])):
        intervals = np.array(json.loads((folder / "transfer.json").read_text())["receiver"]["intervals"])
        t_s, mbit = intervals[:, 1] / 1e9, np.cumsum(intervals[:, 2]) * 8e3 / intervals[:, 1]
        figure.add_scatter(
            x=t_s,
            y=mbit,
            mode="lines",
            name=f"{case}, {readable.size(window_bytes)}",
            line={"color": SERIES_COLOURS[windows.index(window_bytes)], "dash": DASHES[cases.index(case)], "width": 2},
        )
    figure.update_layout(**LAYOUT, legend={"x": 1.01, "y": 1, "font": {"size": 14}})
    figure.update_layout(margin={"t": 20, "r": 20})
    figure.update_xaxes(**AXIS, type="log", title_text="Length of the session (s)")
    figure.update_yaxes(**AXIS, type="log", title_text="Average (Mbit/s)", dtick=1)
    shoot(figure, "fig1", 1100, 520)


def _cell(values: list[float], digits: int) -> str:
    """Mean and half of the interval; the values themselves where there are too few for an interval."""
    found = interval(values)
    if found:
        return f"{found.mean:.{digits}f} ± {found.half:.{digits}f}"
    return ", ".join(f"{value:.{digits}f}" for value in values)


@main.command()
@click.argument("runs", nargs=-1, required=True)
def tables(runs: tuple[str, ...]) -> None:
    """Mean ± half of the 95 % interval: Mbit/s, then s; single values where there are fewer than three."""
    found = cells(runs)
    windows = sorted({kb for _, kb in found})
    for which, digits in ((0, 2), (1, 3)):
        click.echo("| | " + " | ".join(f"{kb} KB" for kb in windows) + " |\n|---|" + "---|" * len(windows))
        for name in dict.fromkeys(name for name, _ in found):
            texts = [_cell(found[name, kb][which], digits) if (name, kb) in found else "–" for kb in windows]
            click.echo(f"| {name} | " + " | ".join(texts) + " |")
    click.echo(f"repeats: {sorted({len(mbit) for mbit, _ in found.values()})}")


@main.command("cpeak-tables")
@click.argument("runs", nargs=-1, required=True)
@click.option("--by", type=click.Choice(["window", "loss"]), default="window")
def cpeak_tables(runs: tuple[str, ...], by: str) -> None:
    """Mbit/s by maxcwnd or loss: mean ± half of the 95 % interval; of two flows both, and the second's fair share."""
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for path in runs:
        for row in load_run(Path(path)).rows:
            if not row.get("valid") or not row.get("short_term_bps"):
                continue
            column = f"{row['window_bytes'] // 1024} KB" if by == "window" else f"{row['loss_ppb'] / 1e7:g} %"
            name, first = str(row["congestion"]), row["short_term_bps"] / 1e6
            if row.get("flow"):
                continue  # told with the first flow
            if row["flows_bps"]:
                name, total = f"{name}, {row['beside']}", row["flows_bps"] / 1e6
                first = total * row["flow_share"]
                second = total - first
                found[f"{name}: second"][column].append(second)
                found[f"{name}: sum"][column].append(first + second)
                found[f"{name}: second of its fair share"][column].append(second / ((first + second) / 2))
                name = f"{name}: first"
            found[name][column].append(first)
    columns = list(dict.fromkeys(column for cells in found.values() for column in cells))
    click.echo("| | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for name in sorted(found):
        texts = [_cell(found[name][column], 2) if found[name].get(column) else "–" for column in columns]
        click.echo(f"| {name} | " + " | ".join(texts) + " |")


if __name__ == "__main__":
    main()
