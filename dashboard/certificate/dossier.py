"""dossier.html next to dossier.json: one self-contained page of rules, evidence, record plot and hashes.

Both files are written under temporary names first and then renamed, so that a full disk leaves neither.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from plotly.io import to_html

from dashboard.certificate import texts as certificate
from dashboard.certificate.records_figure import records_figure
from dashboard.core import plotly_js
from dashboard.core.theme import GRAPH_CONFIG
from netcommon.errors import UsageError
from netcommon.strangers import replacing
from scenarios.certify import dossier

HERE = Path(__file__).parent


def write_dossier(content: dict[str, Any], folder: Path) -> Path:
    """Writes dossier.json and dossier.html into ``folder`` and returns the page's path."""
    page = render(content)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / dossier.NAME) as data, replacing(folder / "dossier.html") as html:
            data.write(dossier.text(content).encode())
            html.write(page.encode())
    except OSError as error:
        raise UsageError(f"--output {folder}: {error.strerror}") from error
    return folder / "dossier.html"


def render(content: dict[str, Any]) -> str:
    """The page."""
    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    date = certificate.date_of(content)
    figure = records_figure((date, content["score_tbit_m_per_s"]), content["run"])
    return environment.get_template("dossier.html.j2").render(
        dossier=content,
        date=date,
        classes=certificate.CLASSES,
        verdict=certificate.HOLDS if content["certified"] else certificate.BROKEN,
        facts=certificate.certificate_facts(content),
        legs=certificate.route_table(content).rows,
        style=(HERE.parent / "assets" / "style.css").read_text(),
        plotly_js=plotly_js.script(),
        records_html=to_html(figure, full_html=False, include_plotlyjs=False, div_id="records", config=GRAPH_CONFIG),
    )
