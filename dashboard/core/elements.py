"""Parts that pages share: verdict box, tables, facts, graph settings. Dash escapes all text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from dash import dcc, html

from dashboard.core.parts import VERDICT_CLASS, Facts, Table
from dashboard.core.runs import Verdict
from dashboard.core.theme import GRAPH_CONFIG

READ_ONLY = "Nothing is changed: this dashboard is read-only (--read-only)."


def graph_config() -> dcc.Graph.Config:
    """Plotly's settings for all graphs, as Dash types them."""
    return cast("dcc.Graph.Config", dict(GRAPH_CONFIG))


def graph(name: str, figure: Any, says: str, **options: Any) -> html.Figure:
    """A plot. `says`: what it shows and where its numbers are, for those who do not see it."""
    plot = dcc.Graph(id=name, figure=figure, config=graph_config(), **options)
    label: dict[str, Any] = {"aria-label": says}
    return html.Figure(plot, **label)


def scrolled(name: str, content: html.Table, *, dense: bool = False) -> html.Div:
    """A table in a frame of its own that is scrolled, by the arrow keys, too. `dense`: it has many columns."""
    label: dict[str, Any] = {"aria-label": name}
    return html.Div(content, className="scroll dense" if dense else "scroll", tabIndex="0", role="region", **label)


def verdict_box(verdict: Verdict, what: str) -> html.Div:
    """A box that says whether the numbers may be believed, and if not, why not."""
    reasons = [html.Ul([html.Li(reason) for reason in verdict.reasons])] if verdict.reasons else []
    head = html.Strong(f"{what}: {verdict.word}")
    return html.Div([head, *reasons], className=f"verdict {VERDICT_CLASS[verdict.valid]}")


def verdict_mark(verdict: Verdict) -> html.Span:
    """The verdict in a table cell, with its reasons on hover."""
    return html.Span(
        verdict.word, className=f"mark {VERDICT_CLASS[verdict.valid]}", title="; ".join(verdict.reasons) or None
    )


def facts_list(facts: Facts) -> html.Dl:
    return html.Dl([html.Div([html.Dt(label), html.Dd(value)]) for label, value in facts], className="facts")


def sentences(texts: Iterable[str]) -> list[html.P]:
    """A paragraph of small print for each text."""
    return [html.P(text, className="small") for text in texts]


def table(content: Table) -> html.Table:
    return rich_table(content.head, [list(row) for row in content.rows], content.numeric)


def rich_table(head: tuple[str, ...], rows: list[list[Any]], numeric: frozenset[int]) -> html.Table:
    """A table whose cells may be components."""
    style = ["number" if column in numeric else "" for column in range(len(head))]
    return html.Table(
        [
            html.Thead(html.Tr([html.Th(c, className=k, scope="col") for c, k in zip(head, style, strict=True)])),
            html.Tbody([html.Tr([html.Td(c, className=k) for c, k in zip(row, style, strict=True)]) for row in rows]),
        ]
    )


def problem(text: str) -> html.Div:
    """A page that says what is wrong and leads back to all runs."""
    return html.Div([html.H1("Nothing to show"), html.P(text), dcc.Link("All runs", href="/")])
