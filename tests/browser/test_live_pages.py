"""The pages of running tools in Chromium, with a control socket that answers as CONTROL.md says; and the page of a run
that is under way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Dialog, Page, expect
from support import synthetic_run
from support.accessible import accessible
from support.pretended import PretendedBox, PretendedGateway, pretended
from support.served_dashboard import browsed

from scenarios.run.progress import ProgressFile

pytestmark = [pytest.mark.browser]
DRAWN = """name => { const plot = document.querySelector(name + ' .js-plotly-plot');
    return Boolean(plot) && [...plot._fullData[0].y].filter(Number.isFinite).length >= 2 }"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the tests make control sockets."""
    return tmp_path_factory.mktemp("live")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """The dashboard of a gateway and a box, without any run."""
    sockets = ("--gateway", str(folder / "gateway"), "--box", str(folder / "box"))
    with browsed(None, *sockets, "--runs-dir", str(folder)) as (printed, _):
        yield printed


def test_a_gateway_is_watched_and_controlled_by_several_browsers(page: Page, folder: Path, url: str) -> None:
    gateway = PretendedGateway()
    page.goto(url)
    expect(page.locator("#gateway-state")).to_contain_text("No answer: ")
    with pretended(folder / "gateway", gateway.answer):
        controls_a_gateway(page, url, gateway)
    expect(page.locator("#gateway-state")).to_contain_text("is lft-gateway running there?")


def only_draining(dialog: Dialog) -> None:
    """Answers yes to the question about draining, and no to the one about stopping."""
    if dialog.message.startswith("Drain"):
        dialog.accept()
    else:
        dialog.dismiss()


def controls_a_gateway(page: Page, url: str, gateway: PretendedGateway) -> None:
    """Controls the gateway from the return of its socket until it drains; a second page only shows it."""
    facts, told = page.locator("#gateway-facts"), page.locator("#gateway-said")
    other = page.context.new_page()
    other.goto(url)
    for each in (page, other):
        expect(each.locator("#gateway-state")).to_have_text("The tunnel is up. New connections go through it.")
        expect(each.locator("#gateway-facts")).to_contain_text("From hosts into the gateway100 Mbit/s")
    expect(facts).to_contain_text("From the gateway to hosts10 Mbit/s")
    page.wait_for_function(DRAWN, arg="#gateway-plot")
    accessible(page)
    page.get_by_label("Rate limit").fill("250")
    page.keyboard.press("Enter")
    expect(told).to_have_text("Rate limit is now 250 Mbit/s.")
    expect(other.locator("#gateway-facts")).to_contain_text("Rate limit250 Mbit/s")
    page.get_by_role("group", name="Bypass").get_by_label("on", exact=True).check()
    page.get_by_role("button", name="Set bypass").press("Enter")
    expect(page.locator("#gateway-state")).to_have_text("The tunnel is up. New connections bypass it.")
    page.on("dialog", only_draining)
    with page.expect_event("dialog"):
        page.get_by_role("button", name="Stop…").click()
    page.get_by_label("Drain within").fill("5s")
    page.get_by_role("button", name="Drain…").press("Enter")
    expect(told).to_have_text("The gateway takes no new connections and stops within 5s.")
    expect(other.locator("#gateway-state")).to_contain_text("it takes no new connections")
    assert [request for request in gateway.asked if request["op"] != "show"] == [
        {"op": "set", "values": {"rate": "250Mbit"}},
        {"op": "set", "values": {"bypass": "on"}},
        {"op": "stop", "within": "5s"},
    ]


def test_a_delay_box_is_watched_and_changed(page: Page, folder: Path, url: str) -> None:
    box = PretendedBox()
    with pretended(folder / "box", box.answer):
        page.goto(url)
        page.get_by_role("link", name="Delay box").click()
        facts, told = page.locator("#box-facts"), page.locator("#box-said")
        expect(page.locator("#box-state")).to_have_text("Verdict: valid.")
        expect(facts.locator("tr", has_text="Leaves")).to_have_text("Leaves45 Mbit/s1 Mbit/s")
        expect(facts.locator("tr", has_text="dropped: loss")).to_contain_text("12.35 k")
        page.wait_for_function(DRAWN, arg="#box-plot")
        accessible(page)
        page.get_by_label("New delay").fill("long")
        page.keyboard.press("Enter")
        expect(told).to_contain_text("--delay 'long': not a duration")
        page.get_by_label("New delay").fill("50ms")
        page.get_by_label("New loss").fill("1%")
        page.get_by_label("ab (from a to b)").check()
        page.get_by_role("button", name="Set").press("Enter")
        expect(told).to_have_text("Changed: ab delay 50 ms, ab loss 1%.")
        expect(page.get_by_label("New delay")).to_have_value("")
        expect(facts.locator("tr").filter(has=page.get_by_text("Delay", exact=True))).to_contain_text("50 ms4.2 ms")
    assert [request["values"] for request in box.asked if request["op"] == "set"] == [
        {"delay": "long"},
        {"ab-delay": "50ms", "ab-loss": "1%"},
    ]


def sample(at_s: float, bps: float) -> str:
    """A line of live.jsonl."""
    moved = {"acked_bytes": int(bps * at_s / 8), "sent_bytes": int(bps * at_s / 8) + 65536, "retransmits": 0}
    ends = {"local": "10.77.0.1:40001", "remote": "10.77.2.2:5020"}
    return json.dumps({"t_ns": int(at_s * 1e9), "cwnd_bytes": 65536, "rtt_ns": 20_000_000} | ends | moved) + "\n"


def test_a_run_is_watched_until_its_end(page: Page, folder: Path, url: str) -> None:
    run = synthetic_run.start(folder, "lfp-syndrome", "lfp-1995/fig3", "The syndrome", "abc123")
    trial = run / "trials" / ".0000.tmp"
    trial.mkdir(parents=True)
    told = ProgressFile(run, 1)
    told.write(0, 60.0, [{"trial": 0, "say": "transfer.window 64KB", "left_s": 30.0}])
    with (trial / "live.jsonl").open("a", buffering=1) as samples:
        samples.write(sample(1, 8e6) + sample(1.25, 8e6))
        page.goto(f"{url.rsplit('/', 1)[0]}/run/{run.name}")
        expect(page.locator("#under-way-state")).to_contain_text("0 of 1 trial are done. 1 trial runs now. About ")
        expect(page.locator("#under-way-trials")).to_contain_text("8 Mbit/s64 KB20 ms")
        page.wait_for_function(DRAWN, arg="#growing")
        accessible(page)
        samples.write(sample(1.5, 16e6))
        expect(page.locator("#under-way-trials")).to_contain_text("56 Mbit/s")
    row = synthetic_run.write_trial(run, synthetic_run.make_params(0, 0, "modern", 65536), 16e6)
    page.get_by_role("link", name="0", exact=True).click()
    expect(page.locator("h1")).to_contain_text("Trial 0")
    page.go_back()
    synthetic_run.finish(run, [row])
    told.close()
    expect(page.locator("#under-way-state")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("This run: valid")
