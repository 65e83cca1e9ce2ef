"""The class page: its demonstrations, their results in words, its texts. tests/browser runs one for real."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from plotly.io.json import to_json_plotly
from support import synthetic_run

from dashboard.classroom.curve_figure import demonstration_figure
from dashboard.classroom.demonstrated import Demonstrated, demonstrated, limits
from dashboard.classroom.demonstration import CHOICES, Demonstrations, Setting, scenario_text, setting_of
from dashboard.classroom.words import STEPS, explained, languages, words
from dashboard.core.runs import load_run
from dashboard.server.app import Runs, make_app, page_at
from dashboard.server.auth import refuse_other_sites
from netcommon.errors import LfpError
from scenarios.plan.plan import load_plan

KB = 1024
SHOWN = Demonstrated("class-1", Setting(), 15e6, 0.0, 0, 0, 8.5e6, True)


def until(condition: Callable[[], bool]) -> None:
    """Waits for a condition, 60 s at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "not within 60 s"
        time.sleep(0.02)


@pytest.fixture
def run_is(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Replaces `lfp run` by a Python program, given as text; its argument is the scenario's file."""
    real = subprocess.Popen

    def put(text: str) -> None:
        def popen(argv: list[str], **options: Any) -> Any:
            assert argv[1:4] == ["-m", "lfp", "run"] and not options.get("shell")
            return real([sys.executable, "-c", text, argv[4]], **options)

        monkeypatch.setattr("dashboard.classroom.demonstration.subprocess.Popen", popen)

    return put


MAKES_A_RUN = """
import pathlib, sys
run = pathlib.Path(sys.argv[1].removesuffix(".toml") + "-1")
(run / "trials" / "0000").mkdir(parents=True)
(run / "manifest.json").write_text("{}")
"""
WAITS = "import signal\nsignal.signal(signal.SIGINT, lambda *_: exit(130))\nopen(run / 'up', 'w')\nsignal.pause()\n"


@pytest.mark.parametrize("number", range(12))
def test_every_offered_value_is_what_the_scenario_says(tmp_path: Path, number: int) -> None:
    setting = setting_of({name: offered[number % len(offered)] for name, offered in CHOICES.items()})
    file = tmp_path / "class.toml"
    file.write_text(scenario_text(setting, "class-1"))
    (trial,) = load_plan(str(file)).trials
    data, acks = (trial.setting.path.direction(way).columns() for way in ("ab", "ba"))
    said = {name: data[name] for name in ("rate_bps", "queue_bytes", "loss_ppb")}
    assert said == {name: getattr(setting, name) for name in said} and acks["loss_ppb"] == 0
    assert trial.setting.path.rtt_ns() == setting.rtt_ns
    assert trial.setting.transfer.window == setting.window_bytes and trial.setting.profile.name == setting.profile


@pytest.mark.parametrize(
    "wrong",
    [
        {"profile": 'modern"\n[x]'},
        {"window_bytes": 16_385},
        {"window_bytes": "16384"},
        {"loss_ppb": False},
        {"time": None},
    ],
)
def test_a_value_that_is_not_offered_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(LfpError, match=next(iter(wrong))):
        setting_of(vars(Setting()) | wrong)


def test_one_demonstration_runs_at_a_time_and_leaves_its_run(tmp_path: Path, run_is: Callable[[str], None]) -> None:
    run_is(MAKES_A_RUN + "import time\nwhile not (run.parent / 'go').exists(): time.sleep(0.02)")
    shown = Demonstrations(tmp_path)
    shown.start(Setting())
    assert shown.state().running == Setting() and (shown.state().left_s or 0) > 0
    with pytest.raises(LfpError, match="running"):
        shown.start(Setting())
    (tmp_path / "go").touch()
    until(lambda: shown.state().running is None)
    after = shown.state()
    assert len(after.runs) == 1 and (tmp_path / after.runs[0]).is_dir() and not after.error
    assert not list(tmp_path.glob("*.toml"))


def test_a_cancelled_demonstration_leaves_nothing(tmp_path: Path, run_is: Callable[[str], None]) -> None:
    run_is(MAKES_A_RUN + WAITS)
    shown = Demonstrations(tmp_path)
    shown.start(Setting())
    until(lambda: bool(list(tmp_path.glob("*/up"))))
    shown.cancel()
    until(lambda: shown.state().running is None and not list(tmp_path.iterdir()))
    assert shown.state().runs == () and not shown.state().error


def test_the_reason_of_a_failure_is_shown(tmp_path: Path, run_is: Callable[[str], None]) -> None:
    run_is("import sys; sys.exit('lfp: no kernel here')")
    shown = Demonstrations(tmp_path)
    shown.start(Setting())
    until(lambda: shown.state().running is None)
    assert shown.state().error == "lfp: no kernel here" and shown.state().runs == ()


def asked_to_start(runs_dir: Path, *, read_only: bool = False, **headers: str) -> Any:
    """What the browser posts when the button is pressed."""
    server = make_app(runs_dir, read_only=read_only).server
    refuse_other_sites(server, "127.0.0.1")
    client = server.test_client()
    client.get("/_dash-dependencies")
    values = vars(Setting())
    body = {
        "output": "class-said.children",
        "outputs": {"id": "class-said", "property": "children"},
        "inputs": [{"id": f"class-{name}", "property": "n_clicks", "value": 1} for name in ("start", "cancel")],
        "state": [{"id": f"class-{name}", "property": "value", "value": values[name]} for name in CHOICES]
        + [{"id": "url", "property": "search", "value": ""}],
        "changedPropIds": ["class-start.n_clicks"],
    }
    return client.post("/_dash-update-component", json=body, headers=headers)


def test_only_the_own_site_starts_and_not_with_read_only(tmp_path: Path, run_is: Callable[[str], None]) -> None:
    run_is("import pathlib, sys; pathlib.Path(sys.argv[1]).with_name('started').touch()")
    assert asked_to_start(tmp_path, Origin="http://evil.example").status_code == 403
    answer = asked_to_start(tmp_path, read_only=True, Origin="http://localhost")
    assert answer.status_code == 200 and "read-only" in answer.text
    assert list(tmp_path.iterdir()) == []
    assert asked_to_start(tmp_path, Origin="http://localhost").status_code == 200
    until(lambda: [path.name for path in tmp_path.iterdir()] == ["started"])


def test_what_is_said_follows_from_the_figures() -> None:
    text = words("en")
    large = replace(SHOWN.setting, window_bytes=520 * KB)
    still = replace(SHOWN, setting=large, bps=8e6, stopped_share=0.8, retransmits=160, timeouts=7)
    said = " ".join(explained(text, still))
    assert "80 %" in said and "160 retransmissions" in said and "520 KB does not fit" in said
    assert SHOWN.seen == "window" and "15 Mbit/s" in explained(text, SHOWN)[0]
    assert replace(SHOWN, setting=large, bps=44e6).seen == "line"
    assert replace(SHOWN, setting=large, bps=20e6, retransmits=3).seen == "below"


def test_limits_are_those_of_theory() -> None:
    found = limits(Setting(window_bytes=84_000, rtt_ns=10_000_000, rate_bps=10**7, queue_bytes=1000))
    assert (found.window_bps, found.rate_bps, found.holds_bytes) == (67.2e6, 10e6, 13_500)


def test_the_figures_of_a_run_are_those_of_its_results(tmp_path: Path) -> None:
    run = load_run(synthetic_run.seqack(tmp_path, virtual=True))
    row = run.rows[0] | {"rtt_ns": 8_400_000, "loss_ppb": 0}
    (found,) = demonstrated([replace(run, rows=(row,))])
    assert (found.run, found.bps, found.setting.window_bytes) == (run.name, row["short_term_bps"], row["window_bytes"])
    assert found.stopped_share == row["stopped_share"] and found.setting.time == "virtual"


def test_the_curve_has_the_points_of_the_last_path_and_its_theory() -> None:
    elsewhere = replace(SHOWN, setting=replace(SHOWN.setting, rtt_ns=20_000_000), bps=3e6)
    modern = replace(SHOWN, setting=replace(SHOWN.setting, window_bytes=64 * KB, profile="modern"), bps=44e6)
    traces = {trace.name: trace for trace in demonstration_figure([elsewhere, modern, SHOWN], words("en"), 760).data}
    assert [list(traces[name].y) for name in ("bsd-1995", "modern", "last transfer")] == [[15], [44], [15]]
    theory = traces["limit: window ÷ RTT, up to the line's rate"]
    assert all(y == pytest.approx(min(x * KB * 8 / 8.4e-3 / 1e6, 45)) for x, y in zip(theory.x, theory.y, strict=True))
    assert theory.y[0] == pytest.approx(16 * KB * 8 / 8.4e-3 / 1e6) and max(theory.y) == 45
    assert list(traces["path and queue are full"].x) == [pytest.approx((45e6 * 8.4e-3 / 8 + 110 * KB) / KB)] * 2


def test_the_page_speaks_the_language_of_the_address_and_hides_answers(tmp_path: Path) -> None:
    for language in languages():
        page: Any = page_at(Runs(tmp_path), "/class", f"?lang={language}&theme=dark")
        text = to_json_plotly(page)
        assert page.lang == language and page.className == "class-page dark" and text.count('"Details"') == len(STEPS)
        assert '"open"' not in text and "{" + "window}" not in text
    fallback: Any = page_at(Runs(tmp_path), "/class", "?lang=xx&theme=<b>")
    assert fallback.lang == "en" and fallback.className == "class-page"  # light or dark as the system is
