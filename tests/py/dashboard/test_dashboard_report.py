"""report.html: one file, no network, readable without JavaScript, everything escaped."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support import synthetic_run
from support.page_texts import Page

from bench.zoom import columns
from dashboard.core.runs import load_run
from dashboard.report.html import render, write_report
from dashboard.run import tables


@pytest.fixture(scope="module")
def syndrome(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(synthetic_run.sweep(tmp_path_factory.mktemp("runs")))


def test_the_report_loads_nothing_from_anywhere(syndrome: Path) -> None:
    page = Page(syndrome.read_text())
    assert page.addresses == []
    assert not {"link", "iframe", "img", "object", "embed", "base"} & set(page.tags)
    assert "default-src 'none'" in syndrome.read_text()
    assert "@import" not in syndrome.read_text().split("</style>")[0]


def test_plotly_is_there_once_and_the_file_is_small_enough(syndrome: Path) -> None:
    text = syndrome.read_text()
    assert len(re.findall(r"\* plotly\.js v", text)) == 1
    assert len(text) < 10_000_000


def test_verdict_comes_first_and_numbers_are_text(syndrome: Path) -> None:
    text = Page(syndrome.read_text()).text
    assert text.index("This run: not valid") < text.index("Throughput by transfer.window")
    assert synthetic_run.INVALID_REASON in text
    for words in (
        "3: LFP syndrome",
        "8 Mbit/s (LFP syndrome)",
        "line rate",
        "lfp-1995/fig3",
        "6.1.0-test",
        "retransmission time-out 1.02 s after a tail-drop burst of 23 packets",
        "s = 0.",
    ):
        assert words in text, words


def test_the_papers_facts_stand_beside_the_first_stop(tmp_path: Path) -> None:
    text = Page(write_report(synthetic_run.seqack(tmp_path)).read_text()).text
    assert "Seq rises before the stop" in text and "65 Mbit/s" in text and "263.7 KB" in text


def test_a_large_capture_makes_no_large_report(tmp_path: Path) -> None:
    small = len(write_report(synthetic_run.seqack(tmp_path / "small")).read_bytes())
    many = synthetic_run.seqack(tmp_path / "large", segments=300_000, cycle_segments=3000)
    large = len(write_report(many).read_bytes())
    assert large - small < 10_000_000


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=1)
    manifest = json.loads((path / "manifest.json").read_text())
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>"
    manifest["scenario"]["scenario"]["title"] = manifest["kernel"] = evil
    manifest["verdict"] = {"valid": False, "reasons": [evil]}
    (path / "manifest.json").write_text(json.dumps(manifest))
    summary = path / "trials" / f"{load_run(path).trial_numbers()[0]:04d}" / "summary.json"
    assert not summary.exists()
    captured = next(iter(load_run(path).captured))
    file = path / "trials" / f"{captured:04d}" / "summary.json"
    stops = json.loads(file.read_text())
    stops["flows"][1]["stops"][0]["text"] = "</script>" + evil
    file.write_text(json.dumps(stops))
    html = render(load_run(path))
    page = Page(html)
    assert "img" not in page.tags and "alert(1)" in page.text
    assert html.count("<script>alert") == 0


def test_a_run_under_way_has_a_report_too(tmp_path: Path) -> None:
    path = synthetic_run.seqack(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text()) | {"state": "running", "verdict": None}
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "results.parquet").unlink()
    assert "not judged" in Page(render(load_run(path))).text


def test_a_run_that_says_nothing_of_itself_has_a_report_too(tmp_path: Path) -> None:
    assert "5000 segments" in Page(render(load_run(columns.write(tmp_path, 5_000)))).text


def test_nothing_is_left_beside_the_report(syndrome: Path) -> None:
    assert [file.name for file in syndrome.parent.iterdir() if file.name.startswith(".")] == []


def test_failed_trials_are_named(tmp_path: Path) -> None:
    path = synthetic_run.sweep(tmp_path, repeats=1)
    run = load_run(path)
    run.rows[0].update(short_term_bps=None, state="failed", valid=False, reasons="transfer timed out")
    html = Page(render(run)).text
    assert "1 without a throughput" in html and "not valid: transfer timed out" in html
    assert tables.trial_table(run).rows[0][3] == "–"


def test_expectations_stand_with_what_was_measured(tmp_path: Path) -> None:
    run = synthetic_run.sweep(tmp_path)
    file = run / "manifest.json"
    manifest = json.loads(file.read_text())
    seen = [{"setting": "transfer.window 64KB", "measured": 5e6, "repeats": 1, "met": False}]
    manifest["expected"] = [{"say": "fast <b>", "of": "short_term_bps", "wanted": "at least 9 Mbit/s", "ratio": False,
                             "seen": seen, "met": False}]  # fmt: skip
    file.write_text(json.dumps(manifest))
    text = Page(render(load_run(run))).text
    assert re.search(
        r"Expectations.*fast <b>\s*transfer.window 64KB\s*5 Mbit/s\s*at least 9 Mbit/s\s*NO", text, re.DOTALL
    )
    places = [
        text.index(part)
        for part in (
            "This run: ",
            "0 of 1 expectations met; not met: fast <b>.",
            "Throughput by transfer.window",
            "Expectations",
        )
    ]
    assert places == sorted(places), "what was found stands before how it was judged"
