"""Runs as files, by address: `/export/runs.tar?run=…&run=…` and `/export/results.csv?run=…`. A name is only looked up
among the existing runs (app.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlencode

from dash import Dash, html
from flask import Response, request

from dashboard.core.archive import archive, results_csv
from dashboard.core.runs import Run
from netcommon.errors import LfpError

FILES = {"runs.tar": "Archive (tar)", "results.csv": "Results (CSV)"}


def links(names: Sequence[str]) -> list[html.A]:
    """Links to the files of these runs."""
    query = urlencode([("run", name) for name in names])
    return [html.A(text, href=f"/export/{file}?{query}", download=file) for file, text in FILES.items()]


def register(app: Dash, run_named: Callable[[str], Run]) -> None:
    """Registers the addresses."""

    def asked(file: str) -> Response:
        try:
            runs = [run_named(name) for name in dict.fromkeys(request.args.getlist("run"))]
            if not runs or file not in FILES:
                raise LfpError("say which runs and which file: /export/runs.tar?run=NAME", 2)
            content = archive(runs) if file == "runs.tar" else results_csv(runs)
        except LfpError as error:
            return Response(f"{error}\n", 404, mimetype="text/plain")
        kind = "application/x-tar" if file == "runs.tar" else "text/csv"
        return Response(content, mimetype=kind, headers={"Content-Disposition": f"attachment; filename={file}"})

    app.server.add_url_rule("/export/<file>", "export", asked)
