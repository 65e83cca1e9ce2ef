"""The words and numbers of pages and report: correctly named, readable, and without unknown values."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from support import synthetic_gateway, synthetic_plan, synthetic_run, synthetic_slow
from support.page_texts import Page, texts_of_figure, texts_of_page
from support.synthetic_results import random_plan, rows

from dashboard.core.runs import Run, load_run
from dashboard.report.html import render
from dashboard.run import sweep, tables
from dashboard.run.facts import run_facts
from dashboard.run.sweep_figure import sweep_figure
from dashboard.server.app import Runs, page_at
from dashboard.trial import facts
from scenarios.plan import columns
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan
from scenarios.plan.shared_settings import shared_settings

UNITS = r"(?:[TGMk]?bit/s|[TGMK]?B|[GMk]?pps|ms|µs|ns|s|min|h|d|%)"
AMOUNT = re.compile(rf"(?<![\w.,])(\d[\d,]*(?:\.\d+)?) ?{UNITS}(?![\w/])")
NEVER = (
    re.compile(r"\d(?:\.\d+)?[eE][+-]\d"),
    re.compile(r"–, "),
    re.compile(r"\[\]"),
    re.compile(r"\bNone\b"),
    re.compile(r"\bnan\b", re.IGNORECASE),
)


def of_plan(parent: Path) -> None:
    rng = random.Random(11)
    plan = random_plan(rng)
    plan.echo["report"] = {"kind": "sweep", "x": next(iter(plan.sweep))}
    synthetic_plan.write(parent, plan, rows(plan, rng))


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    synthetic_run.sweep(parent)
    synthetic_run.seqack(parent, segments=30_000, cycle_segments=600, virtual=True)
    synthetic_run.matrix(parent)
    synthetic_run.losses(parent)
    synthetic_gateway.gateway(parent)
    synthetic_gateway.boxed(parent)
    synthetic_slow.slow(parent)
    of_plan(parent)
    return parent


def assert_readable(text: str, where: str) -> None:
    for never in NEVER:
        found = never.search(text)
        assert not found, f"{where}: {text[max(0, found.start() - 60) : found.end() + 20] if found else ''}"
    for amount in AMOUNT.finditer(text):
        digits = amount[1].replace(",", "")
        significant = digits.replace(".", "").strip("0") if "." in digits else digits.strip("0")
        assert len(significant) <= 4, f"{where}: {amount[0]} in {text[max(0, amount.start() - 60) : amount.end()]}"


def test_every_page_is_readable(runs_dir: Path) -> None:
    runs = Runs(runs_dir)
    for run in runs.all():
        trials = {*run.trial_numbers()[:2], *run.captured}
        for address in ("/", f"/run/{run.name}", *(f"/run/{run.name}/trial/{n}" for n in trials)):
            for text in texts_of_page(page_at(runs, address)):
                assert_readable(text, address)


def test_every_report_is_readable(runs_dir: Path) -> None:
    for run in Runs(runs_dir).all():
        html = re.sub(r"<pre.*?</pre>", "", render(run), flags=re.DOTALL)  # the scenario as a file has it
        for text in Page(html).text.splitlines():
            assert_readable(text, f"report of {run.name}")


def test_a_long_fat_path_has_units_of_its_size(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "scenario": {"name": "fat"},
        "path": {"delay": "250ms", "rate": "10Gbit", "queue": "800MB"},
        "transfer": {"bytes": "10GB"},
        "sweep": {"transfer.window": ["64MB", "256MB", "1GB"]},
        "run": {"repeat": 2},
    }
    plan = make_plan(Document(str(tmp_path / "fat.toml"), values), 1)
    fast = [row | {"valid": True, "short_term_bps": 8e9 + row["trial"] * 1e8} for row in rows(plan, random.Random(1))]
    built = sweep.build(load_run(synthetic_plan.write(tmp_path, plan, fast)))
    assert built is not None
    figure = sweep_figure(built)
    assert figure.layout.yaxis.title.text == "Throughput (Gbit/s)"
    assert list(figure.layout.xaxis.ticktext) == ["64 MB", "128 MB", "256 MB", "512 MB", "1 GB"]
    for text in [*texts_of_figure(figure), *(cell for row in tables.level_table(built).rows for cell in row)]:
        assert_readable(text, "a sweep at 10 Gbit/s")


@pytest.mark.parametrize("text", ["2.336e+04 KB", "1.23456 Mbit/s", "Window, granted –, 0 B", "a title []", "12345 ms"])
def test_what_is_not_readable_is_found(text: str) -> None:
    with pytest.raises(AssertionError):
        assert_readable(text, "here")


def named(runs_dir: Path, start: str) -> Run:
    return next(run for run in Runs(runs_dir).all() if run.name.startswith(start))


def test_the_settings_of_all_trials_are_on_the_page_and_in_the_report(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "scenario": {"name": "fec"},
        "path": {"delay": "30ms", "rate": "45Mbit", "queue": "110KB", "ba_rate": "10Mbit"},
        "transfer": {"bytes": "1MB", "nodelay": True},
        "gateway": {"kind": "lft", "recovery": "fec"},
        "sweep": {"path.loss": ["0", "1%"]},
    }
    plan = make_plan(Document(str(tmp_path / "fec.toml"), values), 1)
    path = synthetic_plan.write(tmp_path, plan, rows(plan, random.Random(1)))
    said = dict(shared_settings(load_run(path).rows))
    wanted = {
        "path.delay": "30 ms",
        "path.rate": "45 Mbit/s",
        "path.ba_rate": "10 Mbit/s",
        "path.queue": "110 KB",
        "gateway.kind": "lft",
        "gateway.recovery": "fec",
        "profile.name": "modern",
        "transfer.congestion": "cubic",
        "transfer.nodelay": "yes",
        "transfer.bytes": "1 MB",
    }
    assert said == wanted, "what is swept (path.loss) and what nobody set are not among them"
    page = list(texts_of_page(page_at(Runs(tmp_path), f"/run/{path.name}")))
    html = Page(render(load_run(path))).text
    for name, value in wanted.items():
        assert page[page.index(name) + 1] == value and f"{name}{value}" in html


@pytest.mark.parametrize("swept", [False, True])
def test_a_path_whose_rate_is_a_trace_is_not_said_to_have_none(tmp_path: Path, swept: bool) -> None:
    traces = ["rate:0s=20Mbit,2s=5Mbit", "rate:0s=40Mbit"]
    values: dict[str, Any] = {
        "scenario": {"name": "trace"},
        "path": {"delay": "30ms", "rate_trace": traces[0]},
        "transfer": {"bytes": "1MB"},
        "sweep": {"path.rate_trace": traces} if swept else {},
    }
    plan = make_plan(Document(str(tmp_path / "trace.toml"), values), 1)
    said = dict(shared_settings(load_run(synthetic_plan.write(tmp_path, plan, rows(plan, random.Random(1)))).rows))
    assert "path.rate" not in said and ("path.rate_trace" in said) == (not swept)
    assert said["path.queue"] == "no limit"


def test_a_queue_that_packets_bound_is_not_said_to_have_no_limit(tmp_path: Path) -> None:
    for packets, bound in ((60, None), (0, "no limit")):
        values: dict[str, Any] = {
            "scenario": {"name": "packets"},
            "path": {"delay": "30ms", "rate": "5Mbit", "queue_packets": packets},
            "transfer": {"bytes": "1MB"},
        }
        plan = make_plan(Document(str(tmp_path / "packets.toml"), values), 1)
        path = synthetic_plan.write(tmp_path / str(packets), plan, rows(plan, random.Random(1)))
        said = dict(shared_settings(load_run(path).rows))
        assert said.get("path.queue") == bound and ("path.queue_packets" in said) == bool(packets)


def test_cpu_time_is_no_fact_of_virtual_time(tmp_path: Path) -> None:
    """In virtual time, CPU time only counts readings of the clock."""
    for virtual in (False, True):
        run = load_run(synthetic_gateway.gateway(tmp_path / str(virtual), virtual=virtual))
        said = dict(facts.trial_facts(run, run.trial(0)))
        assert ("CPU time of both gateways" in said) is not virtual
    said_of_run = dict(run_facts(run))
    assert said_of_run["Time"] == "virtual"


def test_facts_name_what_they_are(runs_dir: Path) -> None:
    slow = named(runs_dir, "lfp-seqack-20251009T085320-510510")
    said = dict(facts.trial_facts(slow, slow.trial(0)))
    assert said["transfer.window"] == "sized by the kernel" and "Window granted" not in said
    assert said["RTT of the sender's TCP: least, median"] == "8.4 ms, 8.5 ms"
    assert said["Unacknowledged, most"] == "22.81 MB"
    through = named(runs_dir, "comet-timeline")
    assert "RTT to the near gateway: least, median" in dict(facts.trial_facts(through, through.trial(0)))


def test_a_trials_settings_have_the_scenarios_names(tmp_path: Path) -> None:
    run = load_run(synthetic_run.sweep(tmp_path, repeats=1))
    said = dict(facts.trial_facts(run, run.trial(0)))
    wanted = {
        "profile.name": "bsd-1995",
        "transfer.window": "8 KB",
        "transfer.congestion": "reno",
        "path.rate": "45 Mbit/s",
        "path.queue": "107.4 KB",
        "path.loss": "0 %",
        "path.access_rate": "100 Mbit/s",
        "path.mtu": "4352 B",
    }
    assert {name: said.get(name) for name in wanted} == wanted
    assert not [name for name in said if name in columns.COLUMNS], "no column's name is shown to people"


def test_tables_and_titles_name_what_was_swept_as_the_scenario_does(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "scenario": {"name": "queues"},
        "path": {"delay": "4ms", "rate": "45Mbit"},
        "transfer": {"bytes": "1MB"},
        "sweep": {"path.ab_queue": ["30KB", "60KB"], "gateway.recovery": ["gbn", "fec"]},
        "gateway": {"kind": "lft"},
    }
    plan = make_plan(Document(str(tmp_path / "queues.toml"), values), 1)
    run = load_run(synthetic_plan.write(tmp_path, plan, rows(plan, random.Random(1))))
    table = tables.trial_table(run)
    assert table.head[1:3] == ("path.ab_queue", "gateway.recovery")
    assert [row[1:3] for row in table.rows] == [("30 KB", "gbn"), ("30 KB", "fec"), ("60 KB", "gbn"), ("60 KB", "fec")]
    assert facts.trial_name(run, run.trial(3)) == "Trial 3: path.ab_queue 60 KB, gateway.recovery fec"


def test_a_row_of_request_and_response_is_of_the_messages_with_more_octets() -> None:
    """The row once had the share s of the responses next to the rate and the retransmissions of the requests."""
    row = {"short_term_bps": 7230, "request_bps": 7283.5, "response_bps": 11187498.3, "stopped_share": 0.44,
           "retransmits": 0, "timeouts": 0, "reverse_retransmits": 7, "reverse_timeouts": 2}  # fmt: skip
    assert tables.outcome(row) == ("11.19 Mbit/s of responses", "44 %", "7", "2")
    upload = row | {"request_bps": 9e6, "response_bps": 8e3, "short_term_bps": 8.9e6}
    assert tables.outcome(upload) == ("8.9 Mbit/s", "44 %", "0", "0")
