"""The pages about more than one trial in Chromium: the history of a metric over runs, the certificate of a run, and the
list of runs when another page was opened first."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from support.accessible import accessible
from support.certified_run import write_run
from support.served_dashboard import browsed
from support.synthetic_results import rows, write_plan

from scenarios.certify import seal
from scenarios.plan.document import Document
from scenarios.plan.plan import make_plan

pytestmark = [pytest.mark.browser]
BUILDS = {"x-first": "a" * 64, "x-second": "b" * 64}
DRAWN = "() => document.querySelectorAll('#history-0 .scatterlayer path.point').length"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A dashboard of two runs of scenario x with different gateways, one of y, and a run for the record."""
    folder = tmp_path_factory.mktemp("runs")
    for day, (name, build) in enumerate(BUILDS.items()):
        write_cells(folder / name, "x", day, lft=build)
    write_cells(folder / "y-only", "y", 9, lft="c" * 64)
    record = write_run(folder / "record")
    shutil.copy(folder / "y-only" / "results.parquet", record)
    seal.write(record)
    with browsed(None, "--runs-dir", str(folder)) as (url, _):
        yield url.split("/run/")[0].rstrip("/")


def write_cells(
    folder: Path, scenario: str, day: int, lft: str = "", sweep: dict[str, Any] | None = None, **more: Any
) -> None:
    """Writes a run with two cells of three repeats each, or more cells with another sweep, and its gateway's build."""
    plan = make_plan(Document(scenario, {
        "scenario": {"name": scenario}, "path": {"delay": "5ms"}, "transfer": {"bytes": "1MB"}, "run": {"repeat": 3},
        "sweep": {"path.queue": ["30KB", "60KB"]} | (sweep or {}),
    }), 1)  # fmt: skip
    started = {"started_realtime_ns": (1_760_000_000 + 86_400 * day) * 10**9}
    told = {"hashes": {"lft-gateway": lft}} | started | more
    write_plan(folder, plan, rows(plan, random.Random(day)), name=scenario, **told)


def test_the_history_of_a_metric_is_chosen_and_leads_to_a_run(page: Page, base: str) -> None:
    page.goto(f"{base}/history")
    expect(page.get_by_role("heading", name="y, real time")).to_be_visible()
    page.get_by_label("Scenario").select_option("x")
    expect(page.get_by_role("heading", name="x, real time")).to_be_visible()
    expect(page).to_have_url(re.compile(r"scenario=x"))
    page.wait_for_function(f"({DRAWN})() === 4")
    for name in BUILDS:
        expect(page.get_by_role("link", name=name).first).to_be_visible()
    accessible(page)
    page.get_by_label("Result").select_option("Retransmissions")
    expect(page).to_have_url(re.compile(r"metric=retransmits"))
    page.get_by_role("link", name="x-first").first.click()
    page.wait_for_url("**/run/x-first")


def test_runs_of_one_build_have_ticks_of_their_own_and_no_column_is_cut(page: Page, tmp_path: Path) -> None:
    """Names, builds and times as real runs have them, on a screen of 1,280 pixels."""
    for day, name in enumerate(("lfp-syndrome-20261126T122157-6e27ed", "lfp-syndrome-20261127T122157-154789")):
        build: dict[str, Any] = {"hashes": {"lft-gateway": "a" * 64}}
        build["commits"] = {"lft-gateway": "4b74b29aa (2 days old, changed)"}
        write_cells(tmp_path / name, "lfp-syndrome", day, sweep={"transfer.congestion": ["reno", "cubic"]}, **build)
    with browsed(None, "--runs-dir", str(tmp_path)) as (url, _):
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(f"{url.split('/run/')[0].rstrip('/')}/history")
        page.wait_for_function(f"({DRAWN})() === 8")
        ticks = page.locator("#history-0 .xtick text").all_text_contents()
        assert len(ticks) == len(set(ticks)) == 2, ticks
        wide, room = page.locator(".scroll").evaluate("one => [one.scrollWidth, one.clientWidth]")
        assert wide <= room, f"a table of {wide} px in a frame of {room} px"


def test_settings_that_may_differ_are_ticked_on_the_page_of_two_runs(page: Page, tmp_path: Path) -> None:
    for day, delay in enumerate(("5ms", "9ms")):
        write_cells(tmp_path / delay, "x", day, sweep={"path.delay": [delay]})
    with browsed(None, "--runs-dir", str(tmp_path)) as (url, _):
        page.goto(f"{url.split('/run/')[0].rstrip('/')}/compare/5ms/9ms")
        expect(page.locator("#page")).to_contain_text("Not compared: the runs differ in path.delay (5 ms against 9 ms)")
        page.get_by_label("path.delay").check()
        expect(page).to_have_url(re.compile(r"\?across=path\.delay$"))
        expect(page.locator(".verdict.open")).to_contain_text("Undecided at some settings.")
        expect(page.get_by_label("path.delay")).to_be_checked()
        accessible(page)


def test_a_metric_that_is_none_is_said(page: Page, base: str) -> None:
    page.goto(f"{base}/history?metric=beauty")
    expect(page.locator("#page")).to_contain_text("beauty")
    accessible(page)


def test_a_run_leads_to_its_certificate_with_evidence_and_record_plot(page: Page, base: str) -> None:
    page.goto(f"{base}/run/record/certificate")
    expect(page.get_by_role("heading", name="Land Speed Record: certificate")).to_be_visible()
    page.wait_for_selector("#records .legendtext")
    expect(page.get_by_text(re.compile(r"^R1\b")).first).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="‹").click()
    page.wait_for_url("**/run/record")
    page.get_by_role("link", name="Land Speed Record: certificate and record plot").click()
    expect(page.get_by_role("heading", name="Rules")).to_be_visible()


def test_a_run_without_a_route_has_no_certificate(page: Page, base: str) -> None:
    page.goto(f"{base}/run/x-first/certificate")
    expect(page.locator("#page")).to_contain_text("Not certified: ")
    accessible(page)


def test_the_table_of_runs_comes_when_another_page_leads_to_it(page: Page, base: str) -> None:
    """Only the document of the list has the table's scripts; from any other page they are loaded when the list is
    shown."""
    table = "() => performance.getEntriesByType('resource').filter(one => one.name.includes('dash_ag_grid')).length"
    page.goto(f"{base}/run/x-first")
    expect(page.get_by_role("heading", name="x").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert page.evaluate(table) == 0
    rows = page.locator(".ag-center-cols-container .ag-row")
    page.get_by_role("link", name="TCP over long fat pipes").click()
    expect(rows).to_have_count(4)
    page.go_back()
    expect(page.get_by_role("heading", name="x").first).to_be_visible()
    page.get_by_role("link", name="TCP over long fat pipes").click()
    expect(rows).to_have_count(4)
    page.locator(".ag-header-cell").filter(has_text="Run").first.click()
    page.get_by_label("Search all columns").fill("x-")
    expect(rows).to_have_count(2)
    expect(page.locator(".ag-header-cell[aria-sort=ascending]")).to_have_count(1)
    rows.first.get_by_role("checkbox").check()
    expect(page.get_by_role("button", name="Delete…")).to_be_enabled()
    rows.last.get_by_role("link").click()
    page.wait_for_url("**/run/x-*")
