"""The script of plotly.js that pages get: what is left out of it, and what stays if the expected text is not found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dashboard.core import plotly_js

TRACE = 'var %s=W((a,b)=>{"use strict";b.exports={plot:P(),moduleType:"trace",name:"%s",meta:{}}});'
LISTED = 'var %s=W((a,b)=>{"use strict";b.exports=%s()});'
HEAD = '(function(root, factory) {} (typeof self !== "undefined" ? self : this, () => {\n'
SCRIPT = (
    HEAD
    + '"use strict";var Plotly=(()=>{'
    + TRACE % ("p$", "pie")
    + LISTED % ("Lp", "p$")
    + TRACE % ("h$", "heatmap")
    + LISTED % ("L$", "h$")
    + TRACE % ("b$", "box")
    + LISTED % ("Lb", "b$")
    + "R.register([Lp(),L$(),Lb()]);return R})();\nwindow.Plotly = Plotly;\nreturn Plotly;\n}));\n"
)


def made(monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    monkeypatch.setattr(plotly_js, "get_plotlyjs", lambda: text)
    return plotly_js.script.__wrapped__()


def test_other_traces_are_left_out_and_the_outermost_function_is_one_that_is_called_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = made(monkeypatch, SCRIPT)
    assert (
        "R.register([L$(),Lb()]);" in found
        and " : this, (() => {" in found
        and found.endswith("return Plotly;\n})));\n")
    )
    undone = found.replace("[L$(),Lb()]", "[Lp(),L$(),Lb()]").replace("(() => {", "() => {", 1).replace("})));", "}));")
    assert undone == SCRIPT  # and nothing else is changed


@pytest.mark.parametrize(
    ("there", "other"),
    [('name:"heatmap"', 'name:"image"'), ("[Lp(),L$(),Lb()]", "[Lp(),L$]"), ("[Lp(),L$(),Lb()]", "[Lp()]")],
)
def test_all_traces_stay_where_a_needed_one_is_not_found(
    monkeypatch: pytest.MonkeyPatch, there: str, other: str
) -> None:
    text = SCRIPT.replace(there, other)
    assert made(monkeypatch, text).replace("(() => {", "() => {", 1).replace("})));", "}));") == text


@pytest.mark.parametrize(("there", "other"), [(" : this, () =>", " : this, function()"), ("return Plotly;\n}", "}")])
def test_the_frame_stays_where_it_is_another(monkeypatch: pytest.MonkeyPatch, there: str, other: str) -> None:
    text = SCRIPT.replace(there, other)
    assert made(monkeypatch, text) == text.replace("[Lp(),L$(),Lb()]", "[L$(),Lb()]")


def test_the_script_has_every_kind_of_trace_that_figures_have() -> None:
    sources = [path.read_text() for path in Path(plotly_js.__file__).parents[1].rglob("*.py")]
    used = {kind.lower() for text in sources for kind in re.findall(r"\bgo\.([A-Z][a-z]+)\(", text)}
    assert used - {"figure", "scatter"} == set(plotly_js.KINDS)
