"""What a zoom into any range shows, against the tables; and that the index of a line loses nothing."""

from __future__ import annotations

import base64
import random

import numpy as np
import pytest
from support import synthetic_run

from dashboard.core import downsample
from dashboard.core.downsample import thin_line
from dashboard.core.levels import BLOCK, FACTOR, Levels
from dashboard.core.runs import load_run
from dashboard.core.series import Series
from dashboard.timeline import timeline
from dashboard.timeline.figure import timeline_figure, timeline_sheet
from dashboard.timeline.flow import FAST, SPURIOUS, TIMEOUT
from dashboard.timeline.sheet import Sheet, Trace
from dashboard.timeline.timeline import Timeline
from dashboard.timeline.view import View


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    run = load_run(synthetic_run.seqack(tmp_path_factory.mktemp("runs"), segments=30_000, cycle_segments=600))
    return timeline.load(run, run.trial(0))


def marked(sheet: Sheet, start: str) -> int:
    """How many packets the marks of a kind stand for."""
    own = [trace for trace in sheet.data if trace["name"].startswith(start)]
    return sum(int(fact[6]) for trace in own for fact in trace["customdata"])


def test_any_range_shows_every_retransmission_and_loss_of_the_tables(loaded: Timeline) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(25):
        width = int(loaded.duration_ns * 10 ** rng.uniform(-4, 0))
        t0 = rng.randrange(loaded.duration_ns)
        sheet, seen = timeline_sheet(loaded, (t0, t0 + width)), (loaded.sent_ns >= t0) & (loaded.sent_ns <= t0 + width)
        wanted = {
            "retransmission after time-out (": (loaded.kind == TIMEOUT) & seen,
            "spurious retransmission (": (loaded.kind == SPURIOUS) & seen,
            "fast retransmission (": (loaded.kind == FAST) & seen,
            "lost (": (loaded.received_ns < 0) & seen,
        }
        for name, rows in wanted.items():
            assert marked(sheet, name) == rows.sum(), f"{name} in {t0} … {t0 + width} ns, seed {seed}"


@pytest.mark.parametrize("rows", [1, BLOCK - 1, BLOCK, BLOCK * FACTOR**2 + 3, 200_000])
def test_the_index_keeps_ends_and_extremes_of_any_range(rows: int) -> None:
    seed = random.randrange(2**32)
    rng = np.random.default_rng(seed)
    values = rng.normal(size=rows)
    t = np.arange(rows, dtype=np.int64) * 10
    levels = Levels(t, values)
    for points in (10, 100, 2000):
        for _ in range(20):
            start, stop = np.sort(rng.integers(0, rows + 1, 2))
            drawn = levels.candidates(int(start), int(stop), points)
            found = drawn.rows
            assert np.array_equal(drawn.t_ns, t[found]) and np.array_equal(drawn.value, values[found]), f"seed {seed}"
            assert np.all(np.diff(found) > 0), f"seed {seed}"
            assert found.size == 0 or (found[0] >= start and found[-1] < stop), f"seed {seed}"
            if stop > start:
                assert {start, stop - 1} <= set(found.tolist()), f"seed {seed}"
                assert values[found].max() == values[start:stop].max(), f"seed {seed}"
                assert values[found].min() == values[start:stop].min(), f"seed {seed}"


def test_thinning_by_the_index_reads_few_rows_whatever_the_range() -> None:
    values = np.cumsum(np.random.default_rng(1).integers(-9, 10, 1_000_000))
    t = np.arange(values.size, dtype=np.int64)
    levels = Levels(t, values)
    for start, stop in ((0, 1_000_000), (3, 999_000), (400_123, 600_321), (1, 20_001)):
        assert levels.candidates(start, stop, 2000).size <= 2000 * FACTOR * 4 + 2 * (stop - start) // 2000 + 8
    values[777_777] = 10**9
    rows = thin_line(Series(t, values), 0, values.size, 2000).rows
    assert rows.size <= 2000 and 777_777 in rows, "a spike of one packet survives"


def test_with_the_index_the_lines_are_the_same(loaded: Timeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where few rows are in view the index is not used; both ways draw the greatest value in flight and few points."""
    for start in (0, 10**12):
        monkeypatch.setattr(downsample, "INDEX_FROM", start)
        flight = next(
            trace for trace in timeline_sheet(loaded, (0, loaded.duration_ns)).data if trace["name"] == "unacknowledged"
        )
        assert len(flight["x"]) <= 2000
        assert max(flight["y"]) == pytest.approx(loaded.unacknowledged.value.max() / 1024)


def test_the_browser_gets_what_the_figure_has(loaded: Timeline) -> None:
    span = loaded.visit_view_ns(3)
    figure, plain = timeline_figure(loaded, span), timeline_sheet(loaded, span).plain()
    assert [trace.name for trace in figure.data] == [trace["name"] for trace in plain["data"]]
    for drawn, sent in zip(figure.data, plain["data"], strict=True):
        assert drawn.yaxis == sent["yaxis"] and drawn.legend == sent["legend"]
        assert np.allclose(np.asarray(drawn.y, np.float64), numbers(sent["y"]), equal_nan=True)


def numbers(packed: Trace | list[float]) -> list[float]:
    """A typed array of plotly.js."""
    return np.frombuffer(base64.b64decode(packed["bdata"]), "<f8").tolist() if isinstance(packed, dict) else packed


def test_no_rtt_is_drawn_where_acks_give_no_sample(loaded: Timeline) -> None:
    """The line ends at the last sample before a retransmission and continues at the next sample, in a view of the whole
    transfer and in a view of one stop. The kernel's smoothed RTT is drawn next to it."""
    for t0, t1 in ((0, loaded.duration_ns), loaded.first_view_ns()):
        traces = {trace["name"]: trace for trace in timeline_sheet(loaded, (t0, t1)).data}
        assert "smoothed RTT (TCP_INFO)" in traces
        x, y = (np.asarray(traces["RTT"][name], float) for name in ("x", "y"))
        if traces["RTT"]["mode"] == "markers":
            continue
        begin, end = loaded.rtt.t_ns[loaded.rtt_gaps] / 1e9, loaded.rtt.t_ns[loaded.rtt_gaps + 1] / 1e9
        wide = (end - begin > (t1 - t0) / 1e9 / 100) & (begin > t0 / 1e9) & (end < t1 / 1e9)
        assert wide.any(), "the synthetic transfer repairs losses"
        for first, last in zip(begin[wide], end[wide], strict=True):
            assert not ((x > first) & (x < last)).any()
            assert np.isnan(y[x == first]).any() and not np.isnan(y[x == last]).any()
            at = np.flatnonzero(np.isnan(y) & (x == first))[-1]
            assert x[at + 1] == last and not np.isnan(y[at + 1])


def test_a_sample_between_two_breaks_is_a_short_line(loaded: Timeline) -> None:
    """A browser draws no line for a single point. Samples 0, 3 and 6 of these seven are single."""
    series = Series(np.arange(7, dtype=np.int64) * 1000, np.arange(7, dtype=np.int64))
    view = View(loaded, 0, 7000, points=70)
    t_ns, value = view.broken(view.line(series), series, np.array([0, 2, 3, 5]))
    drawn = [(float(t), float(y)) for t, y in zip(t_ns, value, strict=True)]
    pieces: list[list[tuple[float, float]]] = [[]]
    for point in drawn:
        if np.isnan(point[1]):
            pieces.append([])
        elif point not in pieces[-1]:
            pieces[-1].append(point)
    spans = [[t for t, _ in piece] for piece in pieces]
    assert spans == [[0, 100], [1000, 2000], [3000, 3100], [4000, 5000], [6000, 6100]]
    assert all(y == t // 1000 for piece in pieces for t, y in piece)
