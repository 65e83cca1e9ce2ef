"""The script of plotly.js that pages get: what is left out of it, and what stays if the expected text is not found."""

from __future__ import annotations

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
    + "R.register([Lp(),L$()]);return R})();\nwindow.Plotly = Plotly;\nreturn Plotly;\n}));\n"
)


def made(monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    monkeypatch.setattr(plotly_js, "get_plotlyjs", lambda: text)
    return plotly_js.script.__wrapped__()


def test_other_traces_are_left_out_and_the_outermost_function_is_one_that_is_called_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = made(monkeypatch, SCRIPT)
    assert "R.register([L$()]);" in found and " : this, (() => {" in found and found.endswith("return Plotly;\n})));\n")
    undone = found.replace("[L$()]", "[Lp(),L$()]").replace("(() => {", "() => {", 1).replace("})));", "}));")
    assert undone == SCRIPT  # and nothing else is changed


@pytest.mark.parametrize(
    ("there", "other"), [('name:"heatmap"', 'name:"image"'), ("[Lp(),L$()]", "[Lp(),L$]"), ("[Lp(),L$()]", "[Lp()]")]
)
def test_all_traces_stay_where_a_needed_one_is_not_found(
    monkeypatch: pytest.MonkeyPatch, there: str, other: str
) -> None:
    text = SCRIPT.replace(there, other)
    assert made(monkeypatch, text).replace("(() => {", "() => {", 1).replace("})));", "}));") == text


@pytest.mark.parametrize(("there", "other"), [(" : this, () =>", " : this, function()"), ("return Plotly;\n}", "}")])
def test_the_frame_stays_where_it_is_another(monkeypatch: pytest.MonkeyPatch, there: str, other: str) -> None:
    text = SCRIPT.replace(there, other)
    assert made(monkeypatch, text) == text.replace("[Lp(),L$()]", "[L$()]")
