"""The certificate of a run with a [route]: the Land Speed Record's rules with their evidence, the score, and the record
plot with the run in it. `lfp certify` writes the same as one file."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from dashboard.certificate import texts as certificate
from dashboard.certificate.records_figure import records_figure
from dashboard.core.elements import facts_list, graph, scrolled, sentences, table
from dashboard.core.runs import Run
from netcommon.errors import LfpError

WRITTEN = "This is the run's dossier.json. `lfp certify {name} --check` compares it with the run's files."
MADE = "Judged now, after a comparison of every file with hashes.json. `lfp certify {name}` writes it as a dossier."


def page(run: Run) -> html.Div:
    """The certificate, or why there is none."""
    back = html.P(dcc.Link(f"‹ {run.title}", href=f"/run/{run.name}"))
    head = [back, html.H1("Land Speed Record: certificate")]
    try:
        content, written = certificate.certificate(run.path)
    except LfpError as error:
        return html.Div([*head, html.P(f"Not certified: {error}")])
    certified = bool(content["certified"])
    score = content["score_tbit_m_per_s"]
    return html.Div(
        [
            *head,
            html.Div(
                html.Strong(certificate.HOLDS if certified else certificate.BROKEN),
                className=f"verdict {'good' if certified else 'bad'}",
            ),
            facts_list(certificate.certificate_facts(content)),
            html.H2("The history of records"),
            graph(
                "records",
                records_figure((certificate.date_of(content), score), run.name),
                "Score of each record by date, for IPv4 and IPv6, with this run. Its score is among the facts above.",
            ),
            html.H2("Rules"),
            *[_rule(rule) for rule in content["rules"]],
            html.H2("Route"),
            table(certificate.route_table(content)),
            *sentences([(WRITTEN if written else MADE).format(name=run.name)]),
        ]
    )


def _rule(rule: dict[str, Any]) -> html.Div:
    head = html.P([html.Strong(f"{rule['name']} {rule['verdict']}"), f": {rule['asks']}"])
    evidence = scrolled(f"Evidence for {rule['name']}", table(certificate.evidence_table(rule)))
    return html.Div([head, evidence], className=f"verdict {certificate.CLASSES[rule['verdict']]}")
