"""What a reader sees and does in Chromium: sweep, click to a timeline, labelled stop, zoom, report without network."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dash import html
from playwright.sync_api import Dialog, Page, Route, expect
from support import synthetic_gateway, synthetic_run, synthetic_slow
from support.accessible import accessible
from support.certified_run import write_run
from support.chromium import left
from support.served_dashboard import browsed
from werkzeug.serving import make_server

from bench.zoom import columns
from dashboard.certificate.dossier import write_dossier
from dashboard.classroom import page as class_page
from dashboard.report.html import write_report
from dashboard.server.app import make_app
from scenarios.certify import dossier
from scenarios.virtual import kernel

pytestmark = [pytest.mark.browser]
POINTS = """() => [...document.querySelectorAll('#sweep .scatterlayer .trace')]
    .map(trace => trace.querySelectorAll('path.point').length)"""
TIMES = """() => { const g = document.querySelector('#timeline .js-plotly-plot');
    return [...g._fullData.find(t => t.name === 'sender: new data sent').x] }"""
CUT = """() => [...document.querySelectorAll('.main-svg, table, .scroll, pre')].filter(one => one.checkVisibility())
    .filter(one => one.getBoundingClientRect().right > 718.5 || one.scrollHeight > one.clientHeight + 2)
    .map(one => one.outerHTML.slice(0, 200))"""
LEGENDS = "#timeline .legends button"
DRAWN_LINES = """() => document.querySelector('#timeline .js-plotly-plot')._fullData
    .filter(trace => trace.visible === true && trace.yaxis === 'y').map(trace => trace.name)"""
RANGE = "() => document.querySelector('#timeline .js-plotly-plot')._fullLayout.xaxis.range"


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("runs")
    synthetic_run.sweep(parent)
    synthetic_run.seqack(parent, segments=60_000, cycle_segments=600)
    synthetic_run.losses(parent)
    synthetic_gateway.gateway(parent)
    return parent


@pytest.fixture(scope="module")
def base(runs_dir: Path) -> Iterator[str]:
    """The dashboard as a user starts it; its address without a page."""
    with browsed(next(runs_dir.glob("lfp-syndrome-*"))) as (url, _):
        yield url.split("/run/")[0]


def run_url(base: str, runs_dir: Path, start: str) -> str:
    return f"{base}/run/{next(runs_dir.glob(f'{start}-*')).name}"


def plot_box(page: Page) -> dict[str, float]:
    """Screen rectangle of the Seq/Ack panel."""
    box: Any = page.locator("#timeline rect.nsewdrag").first.bounding_box()
    assert box is not None
    return dict(box)


ROWS = "#runs-table .ag-row"


def wait_for_rows(page: Page, count: int) -> None:
    page.wait_for_function(f"document.querySelectorAll('{ROWS}').length === {count}")


def test_runs_are_searched_filtered_and_lead_to_a_run(page: Page, base: str) -> None:
    page.goto(base)
    wait_for_rows(page, 4)
    page.get_by_label("Search all columns").fill("lfp fig3 not done")
    wait_for_rows(page, 1)
    accessible(page)
    page.get_by_label("Search all columns").fill("")
    wait_for_rows(page, 4)
    page.get_by_label("Run Filter Input", exact=True).fill("syndrome")
    wait_for_rows(page, 1)
    page.get_by_role("link", name="The LFP syndrome").click()
    expect(page.get_by_role("heading", name="Throughput by transfer.window", exact=True)).to_be_visible()


def test_picked_runs_are_compared_and_deleted_after_a_question(page: Page, tmp_path: Path) -> None:
    synthetic_run.losses(tmp_path).rename(tmp_path / "comet-again")
    first = synthetic_run.losses(tmp_path)
    with browsed(first) as (url, _), left(page):
        start = url.split("/run/")[0]
        page.goto(start)
        wait_for_rows(page, 2)
        for number in (0, 1):
            expect(page.get_by_role("button", name="Compare two")).to_be_disabled()
            page.locator(f"{ROWS} input").nth(number).check()
        page.get_by_role("button", name="Compare two").click()
        expect(page.locator(".verdict")).to_contain_text("Undecided at some settings.")
        accessible(page)
        page.goto(start)
        wait_for_rows(page, 2)
        page.locator(ROWS, has=page.locator("a[href='/run/comet-again']")).locator("input").check()
        expect(page.get_by_role("link", name="Archive (tar)")).to_have_attribute("href", re.compile("run=comet-again$"))
        page.get_by_label("Tags for the picked runs").fill("thesis")
        page.get_by_role("button", name="Add tags").click()
        expect(page.locator("#tag-said")).to_have_text("thesis: given to 1 run.")
        expect(page.locator(f"{ROWS} [col-id='tags']").get_by_text("thesis")).to_be_visible()
        asked: list[str] = []

        def dismiss(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.dismiss()

        page.once("dialog", dismiss)
        page.get_by_role("button", name="Delete…").click()
        while not asked:
            page.wait_for_timeout(50)
        page.wait_for_function("() => !document.querySelector('#delete').disabled")
        assert asked == ["Delete 1 run for ever?\ncomet-again"] and (tmp_path / "comet-again").exists()
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete…").click()
        expect(page.locator("#delete-result")).to_have_text("1 run deleted.")
        wait_for_rows(page, 1)
        assert not (tmp_path / "comet-again").exists() and first.exists()


def test_another_figure_is_chosen_and_is_in_the_address(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "comet-fig12"))
    page.wait_for_selector("#curves .legendtext")
    expect(page.locator("#curves .legendtext").get_by_text("limit × (1 − loss)", exact=True)).to_be_visible()
    accessible(page)
    page.get_by_label("theory", exact=True).uncheck()
    page.wait_for_url(re.compile(r"\?hide=theory$"))
    expect(page.locator("#curves .legendtext").get_by_text("limit × (1 − loss)", exact=True)).to_have_count(0)
    page.get_by_label("Result", exact=True).select_option("Retransmissions")
    page.wait_for_url(re.compile(r"value=retransmits&hide=theory$"))
    expect(page.get_by_role("heading", name="Retransmissions by path.loss")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Short-term throughput by path.loss")).to_be_visible()


def test_sweep_shows_all_trials_and_the_paper(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "lfp-syndrome"))
    page.wait_for_selector("#sweep .legendtext")
    windows = len(synthetic_run.WINDOWS_KB)
    counts = sorted(count for count in page.evaluate(POINTS) if count)
    laws = sum(kb * 1024 <= 157 * 1024 for kb in synthetic_run.WINDOWS_KB)  # a point for each window up to the knee
    assert counts == sorted([1, 9, laws, laws, 3 * windows - 1, 3 * windows])  # invalid, paper, laws, bsd-1995, modern
    legend = " ".join(page.locator("#sweep .legendtext").all_text_contents())
    for words in ("bsd-1995", "modern", "paper (lfp-1995/fig3)", "line rate (45 Mbit/s)", "path and queue full"):
        assert words in legend
    expect(page.locator(".verdict")).to_contain_text(synthetic_run.INVALID_REASON)
    accessible(page)
    page.get_by_label("linear", exact=True).check()
    page.wait_for_function("document.querySelector('#sweep .js-plotly-plot')._fullLayout.xaxis.type === 'linear'")


def test_a_click_on_a_collapsed_point_opens_its_labelled_timeline(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "lfp-syndrome"))
    page.wait_for_selector("#sweep .legendtext")
    box = page.evaluate(
        """() => { const p = [...document.querySelectorAll('#sweep path.point')]
            .find(p => /captured/.test(p.__data__.data && p.__data__.data[1]));
            p.scrollIntoView({block: 'center'}); const r = p.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2] }"""
    )
    page.mouse.move(box[0], box[1])
    page.mouse.click(box[0], box[1])
    page.wait_for_url(re.compile(r"/trial/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("profile.name bsd-1995, transfer.window 256 KB")
    label = page.locator("#timeline .annotation-text").first
    expect(label).to_be_visible()
    text = re.sub(r"\s+", " ", " ".join(label.locator("tspan").all_text_contents()) or label.text_content() or "")
    assert "retransmission time-out 1.02 s" in text and "tail-drop burst of 23 packets" in text
    expect(page.locator("#timeline .gtitle")).to_contain_text("s = 0.86")
    assert page.locator("#timeline .shapelayer path").count() >= 1
    accessible(page)


def test_drag_zooms_and_brings_finer_data(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "lfp-seqack") + "/trial/0")
    page.wait_for_selector("#timeline .gtitle-subtitle")
    page.get_by_role("button", name="Whole transfer").click()
    note = page.locator("#timeline .gtitle-subtitle")
    expect(note).to_contain_text("lines thinned to 1,000 points")
    expect(page.locator(LEGENDS).filter(has_text="lost (2,139, thinned)")).to_be_visible()  # 23 in each of 93 cycles
    box = plot_box(page)
    x, width, y, height = box["x"], box["width"], box["y"], box["height"]
    coarse = page.evaluate(TIMES)
    for _ in range(2):  # drags twice along the time axis: to a few cycles, then into one
        before = note.text_content() or ""
        page.mouse.move(x + 0.40 * width, y + 0.5 * height)
        page.mouse.down()
        page.mouse.move(x + 0.50 * width, y + 0.5 * height, steps=5)
        page.mouse.up()
        expect(note).not_to_have_text(before)
    expect(note).to_contain_text("every packet drawn")
    start, end = page.evaluate(RANGE)
    assert end - start == pytest.approx(133.2 / 100, rel=0.1)
    drawn = [sum(start <= t <= end for t in times) for times in (coarse, page.evaluate(TIMES))]
    assert drawn[1] > 5 * drawn[0], f"points in view before and after: {drawn}"
    page.mouse.dblclick(x + 0.5 * width, y + 0.5 * height)
    expect(note).to_contain_text("lines thinned to 1,000 points")


def test_the_legends_hide_lines_from_view_to_view_by_mouse_and_keyboard(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "lfp-seqack") + "/trial/0")
    legends = page.locator(LEGENDS)
    acks, sent = (legends.filter(has_text=name) for name in ("sender: ACK received", "sender: new data sent"))
    expect(acks).to_have_attribute("aria-pressed", "true")
    acks.press("Space")
    expect(acks).to_have_attribute("aria-pressed", "false")
    assert "sender: ACK received" not in page.evaluate(DRAWN_LINES)
    acks.focus()
    note = page.locator("#timeline .gtitle-subtitle")
    before = note.text_content() or ""
    page.evaluate("dash_clientside.timeline.zoomed({'xaxis.range[0]': 2, 'xaxis.range[1]': 3})")
    expect(note).not_to_have_text(before)
    expect(acks).to_have_attribute("aria-pressed", "false")  # in another view as well
    expect(acks).to_be_focused()
    assert "sender: ACK received" not in page.evaluate(DRAWN_LINES)
    sent.dblclick()
    page.wait_for_function(f"() => ({DRAWN_LINES})().join() === 'sender: new data sent'")
    sent.dblclick()
    page.wait_for_function(f"() => ({DRAWN_LINES})().includes('sender: ACK received')")
    accessible(page)


def test_a_view_has_an_address_events_and_files(page: Page, base: str, runs_dir: Path) -> None:
    """Follows an event in the list to a view, zooms into a box, and returns to the same view by its address."""
    page.goto(run_url(base, runs_dir, "lfp-seqack") + "/trial/0")
    listed = page.locator("#timeline-events-said")
    expect(listed).to_contain_text(" in view")
    note = page.locator("#timeline .gtitle-subtitle")
    expect(note).to_contain_text("0 to ")
    whole = note.text_content() or ""
    page.locator("#timeline-events button").nth(3).click()
    expect(note).not_to_have_text(whole)  # drawn: a new drawing ends a drag
    page.wait_for_url(re.compile(r"from=.*&to="))
    before = page.url
    box, all_of = plot_box(page), page.evaluate(RANGE.replace("xaxis", "yaxis"))
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()
    page.wait_for_function("before => location.href !== before", arg=before)
    zoomed = page.evaluate(RANGE)
    height = page.evaluate(RANGE.replace("xaxis", "yaxis"))
    assert (height[1] - height[0]) / (all_of[1] - all_of[0]) == pytest.approx(0.4, rel=0.1)
    page.reload()
    page.wait_for_selector("#timeline .gtitle-subtitle")
    assert page.evaluate(RANGE) == pytest.approx(zoomed, abs=1e-8)
    accessible(page)
    with page.expect_download() as csv:
        page.get_by_role("link", name="CSV of the segments").click()
    assert csv.value.path().read_text().startswith('"t_sent_ns"')
    with page.expect_download() as picture:
        page.get_by_role("button", name="SVG", exact=True).click()
    drawn = picture.value.path().read_text()
    assert "<svg" in drawn[:200] and "sender: new data sent" in drawn  # with its legends
    titles = page.locator(".axis-titles span").all_text_contents()
    assert titles[0] == "Sequence number (bytes)" and titles[-1] == "Time since the first segment (s)"
    assert all(title in drawn for title in titles), "a saved picture has the titles of the axes, too"
    page.get_by_label("Rates over").select_option("10 ms")
    expect(page.locator(LEGENDS).filter(has_text="(10 ms bins)").first).to_be_visible()


def test_a_box_zoom_that_changes_the_unit_of_an_axis_keeps_data_and_range(page: Page, tmp_path: Path) -> None:
    """Zooms from 5 MB in flight to the first segments of the transfer: the axis changes to KB, and every value is still
    in bytes."""
    run = columns.write(tmp_path, 20_000)
    (run / "trials" / "0000" / "tcp_info.parquet").unlink()  # its congestion window would need MB
    with browsed(run) as (url, _), left(page):
        page.goto(f"{url}/trial/0")
        axis = page.locator("#timeline .axis-titles span").nth(1)
        expect(axis).to_have_text("Unacked (MB)")
        page.evaluate(
            """() => { const box = { 'xaxis.range': [0, 0.002], 'yaxis2.range': [0.125, 0.25] };
                Plotly.relayout(document.querySelector('#timeline .js-plotly-plot'), box) }"""
        )
        expect(axis).to_have_text("Unacked (KB)")
        found = page.evaluate(
            """() => { const plot = document.querySelector('#timeline .js-plotly-plot');
                const { x, y } = plot._fullData.find(trace => trace.name === 'unacknowledged');
                return { range: plot._fullLayout.yaxis2.range, x: [...x], y: [...y] } }"""
        )
        assert found["range"] == pytest.approx([128, 256])
        gap_s = columns.WIRE_BYTES * 8 / columns.RATE_BPS
        sent = [(1 + round(t / gap_s)) * columns.MSS for t in found["x"]]
        assert len(sent) > 100 and [1024 * kb for kb in found["y"]] == pytest.approx(sent)


def test_buttons_walk_through_the_stops(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "lfp-seqack") + "/trial/0")
    note = page.locator("#timeline .gtitle-subtitle")
    expect(note).to_contain_text("0 to ")
    first = note.text_content() or ""
    page.get_by_role("button", name="Next stop").click()
    expect(note).not_to_have_text(first)
    page.get_by_role("button", name="Previous stop").click()
    expect(note).to_have_text(first)


def test_buttons_walk_through_the_slowest_spans_where_nothing_stopped(page: Page, tmp_path: Path) -> None:
    with browsed(synthetic_slow.slow(tmp_path)) as (url, _), left(page):
        page.goto(f"{url}/trial/0")
        note = page.locator("#timeline .gtitle-subtitle")
        expect(note).to_contain_text("of 10.01 s")
        expect(page.locator("#timeline .gtitle")).to_contain_text("No stops. Slowest span: ")
        first = note.text_content() or ""
        page.get_by_role("button", name="Next slowest span").click()
        expect(note).not_to_have_text(first)
        page.get_by_role("button", name="Slowest span", exact=True).click()
        expect(note).to_have_text(first)
        expect(page.get_by_role("cell", name="14 retransmissions")).to_be_visible()
        accessible(page)


def test_hovering_names_the_segment(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "lfp-syndrome") + "/trial/39")
    page.wait_for_selector("#timeline .annotation-text")
    spot = page.evaluate(
        """() => { const p = [...document.querySelectorAll('#timeline path.point')]
            .find(p => p.__data__.data && /LOST/.test(p.__data__.data[5]));
            p.scrollIntoView({block: 'center'}); const r = p.getBoundingClientRect();
            return [r.x + r.width / 2, r.y + r.height / 2] }"""
    )
    page.mouse.move(spot[0] - 2, spot[1])
    page.mouse.move(spot[0], spot[1])
    hover = page.locator("#timeline .hoverlayer")
    expect(hover).to_contain_text("LOST: never arrived")
    expect(hover).to_contain_text("transmission 1")


def test_a_hover_text_that_is_on_the_screen_gets_its_facts_when_they_come(
    page: Page, base: str, runs_dir: Path
) -> None:
    waiting: list[Route] = []
    page.route(re.compile("/hover"), lambda route: waiting.append(route))
    page.goto(run_url(base, runs_dir, "lfp-syndrome") + "/trial/39")
    page.wait_for_selector("#timeline .annotation-text")
    hover = page.locator("#timeline .hoverlayer")
    page.evaluate(
        """() => { const plot = document.querySelector('#timeline .js-plotly-plot');
            const curveNumber = plot.data.findIndex(trace => trace.customdata?.[0]?.[0] === '…');
            window.Plotly.Fx.hover(plot, [{curveNumber, pointNumber: 5}], 'xy') }"""
    )
    expect(hover).to_contain_text("…")
    expect(hover).not_to_contain_text("NaN")
    while not waiting:
        page.wait_for_timeout(50)
    waiting[0].continue_()
    expect(hover).not_to_contain_text("…")


def test_client_gateways_and_server_are_on_one_axis(page: Page, base: str, runs_dir: Path) -> None:
    """Five panels zoom together; the legends name the four capture points and the tunnel."""
    page.goto(run_url(base, runs_dir, "comet-timeline") + "/trial/0")
    page.wait_for_selector("#timeline .gtitle-subtitle")
    legend = page.locator(LEGENDS)
    for name in ("client: new data sent", "gateway in: data arrived", "gateway out: new data sent",
                 "server: data arrived", "in gateways and tunnel", "gateway in to gateway out",
                 "near gateway sent", "far gateway received", "the gateways' limit (120 Mbit/s)",
                 "frames lost: by the path's loss (50)"):  # fmt: skip
        expect(legend.filter(has_text=name).first).to_be_visible()
    expect(page.locator("#timeline rect.nsewdrag")).to_have_count(5)
    note = page.locator("#timeline .gtitle-subtitle")
    before = note.text_content() or ""
    box = plot_box(page)
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"], steps=5)
    page.mouse.up()
    expect(note).not_to_have_text(before)
    page.wait_for_function("""() => { const g = document.querySelector('#timeline .js-plotly-plot');
        const [from, to] = g._fullLayout.xaxis.range;
        return g._fullData.every(trace => trace.xaxis === 'x') && to - from < 0.2 }""")
    expect(page.get_by_text("gateway.recovery", exact=True)).to_be_visible()
    accessible(page)


def test_a_sweep_over_loss_opens_its_trials(page: Page, base: str, runs_dir: Path) -> None:
    page.goto(run_url(base, runs_dir, "comet-fig12"))
    page.wait_for_selector("#curves .legendtext")
    for name in ("selective", "bbr", "cubic", "paper (comet-2004/fig12)", "limit × (1 − loss)"):
        expect(page.locator("#curves .legendtext").get_by_text(name, exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name="710 Mbit/s").first).to_be_visible()
    spot = page.evaluate("""() => { const traces = [...document.querySelectorAll('#curves .scatterlayer .trace')];
        const line = traces.find(trace => trace.querySelector('path.point'));
        const r = [...line.querySelectorAll('path.point')].at(-1).getBoundingClientRect();  // far from the other cases
        return [r.x + r.width / 2, r.y + r.height / 2] }""")
    page.mouse.move(spot[0], spot[1])
    page.mouse.click(spot[0], spot[1])
    page.wait_for_url(re.compile(r"/trial/\d+$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("scenario.case selective, path.loss 10 %")


def test_an_address_without_a_run_says_so(page: Page, base: str) -> None:
    page.goto(f"{base}/run/no-such-run")
    expect(page.get_by_text("no run named no-such-run")).to_be_visible()
    accessible(page)
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("heading", name="Runs")).to_be_visible()


def test_nothing_offers_to_send_measurements_away(page: Page, base: str, runs_dir: Path) -> None:
    for address in (run_url(base, runs_dir, "lfp-syndrome"), write_report(next(runs_dir.glob("lfp-s*"))).as_uri()):
        page.goto(address)
        page.wait_for_selector(".modebar-btn", state="attached")
        titles = page.eval_on_selector_all(".modebar-btn", "all => all.map(one => one.dataset.title)")
        assert "Zoom" in titles and not [title for title in titles if "hare" in title or "loud" in title], titles


def test_report_draws_without_any_network(page: Page, runs_dir: Path) -> None:
    report = write_report(next(runs_dir.glob("lfp-syndrome-*")))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.wait_for_selector("#sweep .legendtext")
    page.wait_for_selector("#timeline-39 .annotation-text")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert sorted(page.evaluate("Object.keys(Plotly.PlotSchema.get().traces)")) == ["box", "heatmap", "scatter"]
    accessible(page)
    page.locator("#sweep .updatemenu-button").filter(has_text="linear window axis").click()
    page.wait_for_function("document.getElementById('sweep')._fullLayout.xaxis.type === 'linear'")
    prints_on_a4(page)


def prints_on_a4(page: Page) -> None:
    """Nothing is cut off at the side or needs scrolling: 718 px is the width of A4 without margins of 1 cm, at 96 dpi.
    After printing, the figures are as wide as the window again."""
    margin: Any = dict.fromkeys(("top", "right", "bottom", "left"), "1cm")
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", margin=margin))
    assert 3 <= len(sheets) <= 20, len(sheets)  # with all that was folded
    page.wait_for_function("document.getElementById('sweep')._fullLayout.width > 1200")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1047})
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate(CUT) == []


def test_report_without_javascript_still_has_the_numbers(page: Page, runs_dir: Path) -> None:
    report = write_report(next(runs_dir.glob("lfp-seqack-*")))
    page.context.new_cdp_session(page).send("Emulation.setScriptExecutionDisabled", {"value": True})
    page.goto(report.as_uri())
    expect(page.locator(".verdict")).to_contain_text("This run: valid")
    expect(page.get_by_role("cell", name="Seq rises before the stop")).to_be_visible()


@contextmanager
def serving(runs_dir: Path) -> Iterator[str]:
    """A dashboard in a thread of this process; gives its address."""
    server = make_server("127.0.0.1", 0, make_app(runs_dir).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_class_sees_a_result_that_takes_longer_to_draw_than_the_page_waits_between_questions(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*_: object) -> list[html.P]:
        time.sleep(3 * class_page.POLL_MS / 1000)
        return [html.P("drawn at last", id="drawn")]

    monkeypatch.setattr(class_page, "drawn", slowly)
    with serving(tmp_path) as address, left(page):
        page.goto(f"{address}/class")
        expect(page.locator("#drawn")).to_be_visible()


@pytest.mark.virtual
@pytest.mark.skipif(bool(kernel.missing()), reason=str(kernel.missing()))
def test_a_class_runs_a_transfer_and_every_browser_sees_what_it_showed(page: Page, tmp_path: Path) -> None:
    """Runs a transfer in virtual time, from the button to the explanation; a second page only shows it."""
    with browsed(synthetic_run.losses(tmp_path)) as (url, _), left(page):
        address = f"{url.split('/run/')[0]}/class"
        page.goto(address)
        other = page.context.new_page()
        other.goto(f"{address}?theme=dark")
        expect(other.locator("#class-result")).to_contain_text("No transfer has been run")
        page.get_by_role("button", name="Set the controls").nth(2).click()
        expect(page.locator("#class-window_bytes")).to_have_attribute("aria-valuetext", "520 KB")
        page.get_by_role("button", name="Run", exact=True).click()
        for each in (page, other):
            expect(each.locator("#class-last")).to_contain_text("Window 520 KB")
            expect(each.locator("#class-why")).to_contain_text("The sender stood still")
            expect(each.locator("#class-curve .js-plotly-plot, #class-timeline .js-plotly-plot")).to_have_count(2)
        answer = page.get_by_text("The queue overflows and drops packets")
        expect(answer).to_be_hidden()
        page.get_by_text("Show the answer").nth(2).click()
        expect(answer).to_be_visible()
        for each in (page, other):  # light and dark
            accessible(each)


@pytest.mark.parametrize("search", ["?lang=en&theme=light", "?lang=ja&theme=light", "?lang=ja&theme=dark"])
def test_the_class_page_is_accessible_before_its_first_transfer(page: Page, base: str, search: str) -> None:
    page.goto(f"{base}/class{search}")
    page.wait_for_selector("#class-result p")
    accessible(page)
    page.goto("about:blank")


@pytest.mark.parametrize("address", ["/", "/run/{run}", "/run/{run}/trial/0", "/history", "/class"])
def test_pages_are_dark_where_the_system_is(page: Page, tmp_path: Path, address: str) -> None:
    """The dark theme is as readable as the light one, and paper is light."""
    with browsed(synthetic_run.seqack(tmp_path)) as (url, _), left(page):
        page.emulate_media(color_scheme="dark")
        page.goto(url.split("/run/")[0] + address.format(run=Path(url).name))
        page.wait_for_selector("h1")
        said = "getComputedStyle(document.body).backgroundColor"
        assert page.evaluate(said) == "rgb(18, 24, 31)"
        accessible(page)
        page.emulate_media(color_scheme="dark", media="print")
        assert page.evaluate(said) == "rgb(255, 255, 255)"
        page.emulate_media(color_scheme="light", media="screen")


def test_the_dossier_is_accessible(page: Page, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    page.goto(write_dossier(dossier.make(run), tmp_path / "out").as_uri())
    page.wait_for_selector("#records .legendtext")
    accessible(page)
