"""The page of all runs in the runs directory, newest first."""

from __future__ import annotations

from dash import dcc, html

from dashboard.content.parts import when
from dashboard.data.runs import Run
from dashboard.pages.elements import rich_table, verdict_mark


def page(runs: list[Run]) -> html.Div:
    """The table of runs; each title leads to its run."""
    if not runs:
        return html.Div([html.H1("Runs"), html.P("No runs here yet: `lfp run lfp-syndrome` makes one.")])
    head = ("Run", "Reproduces", "Started", "Trials", "State", "Verdict")
    rows = [
        [
            html.Div([dcc.Link(run.title, href=f"/run/{run.name}"), html.Div(run.name, className="small")]),
            run.paper or "–",
            when(run.manifest.get("started_realtime_ns")),
            f"{len(run.trial_numbers())} of {run.manifest.get('plan') or '?'}",
            run.state,
            verdict_mark(run.verdict),
        ]
        for run in runs
    ]
    return html.Div([html.H1("Runs"), rich_table(head, rows, frozenset({3}))])
