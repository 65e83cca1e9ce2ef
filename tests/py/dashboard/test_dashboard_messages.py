"""Texts in several languages: the tables of messages, and the figures that are drawn of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from support import synthetic_gateway, synthetic_run, synthetic_slow

from dashboard.classroom import words
from dashboard.classroom.curve_figure import demonstration_figure
from dashboard.classroom.demonstrated import Demonstrated
from dashboard.classroom.demonstration import Setting
from dashboard.core.messages import DEFAULT, Messages
from dashboard.core.runs import Json, load_run
from dashboard.timeline import messages, timeline
from dashboard.timeline.box import Box
from dashboard.timeline.figure import timeline_figure
from dashboard.timeline.flow import KINDS

TABLES = {"class page": words.TEXTS, "timeline": messages.TEXTS}
OTHERS = sorted(messages.TEXTS.keys() - {DEFAULT})
# Terms of the field that texts in every language use, units, and plotly's own words.
FIELD = {"ack", "sack", "rtt", "cwnd", "tcp", "ecn", "ce", "info", "nic", "s", "ms", "kb", "mb", "b", "bit", "kbit",
         "mbit", "customdata", "x", "y", "f", "br", "extra", "bsd", "modern"}  # fmt: skip
RUNS: tuple[Callable[[Path], Path], ...] = (
    synthetic_run.seqack,
    synthetic_gateway.boxed,
    synthetic_gateway.gateway,
    synthetic_slow.slow,
)
CAUSES = ("rto_spurious", "rto_after_tail_drop", "rto_after_loss", "rto_after_lost_retransmission", "zero_window",
          "idle", "unfinished", "receiver_window", "loss_recovery", "ack_wait")  # fmt: skip


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("table", TABLES)
def test_every_message_has_every_language_and_the_same_placeholders(table: str) -> None:
    languages = TABLES[table]
    assert languages.keys() == messages.TEXTS.keys() and next(iter(languages)) == DEFAULT
    english = {key: places(text) for key, text in languages[DEFAULT].texts.items()}
    for say in languages.values():
        assert all(text.strip() for text in say.texts.values())
        assert {key: places(text) for key, text in say.texts.items()} == english, say.language


def english_in(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in re.findall("[a-z]+", re.sub(r"%\{[^}]*\}", "", text).lower())} - FIELD


def texts_of(figure: go.Figure) -> Iterator[str]:
    """What a reader sees of a figure."""
    for trace in figure.data:
        yield from (trace.name or "", trace.hovertemplate or "")
        if trace.customdata is not None:
            yield from (fact for fact in np.ravel(trace.customdata) if isinstance(fact, str))
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        yield axis.title.text or ""
    yield from (figure.layout.title.text or "", figure.layout.title.subtitle.text or "")
    for note in figure.layout.annotations:
        yield from (note.text, note.hovertext or "")


@pytest.mark.parametrize("made", RUNS)
@pytest.mark.parametrize("language", OTHERS)
def test_a_timeline_in_another_language_has_no_english_but_the_terms_of_the_field(
    language: str, made: Callable[[Path], Path], tmp_path: Path
) -> None:
    run = load_run(made(tmp_path))
    trial = run.trial(0)
    for one in (trial, *([trial.turned()] if trial.has_both_ways else [])):
        loaded = timeline.load(run, one)
        for span, points in ((None, 1000), ((0, loaded.duration_ns), 100)):
            figure = timeline_figure(loaded, span, points=points, say=messages.TEXTS[language])
            assert english_in(texts_of(figure)) == set()
            assert english_in(texts_of(timeline_figure(loaded, span, points=points))) != set()


def test_the_curve_of_the_class_page_has_no_english(tmp_path: Path) -> None:
    shown = [Demonstrated("class-1", Setting(), 15e6, 0.0, 0, 0, 8.5e6, True)]
    for language in OTHERS:
        assert english_in(texts_of(demonstration_figure(shown, words.words(language), 760))) == set()


def stop(cause: str, **values: Any) -> Json:
    none = {"lost_packets": 0, "lost_bytes": 0, "outage_packets": 0, "waited_ns": 0, "outstanding_bytes": 0,
            "full_queue": False, "probe": False}  # fmt: skip
    return {"cause": cause, "text": "an English text", **none, **values}


@pytest.mark.parametrize("language", OTHERS)
def test_stops_limits_fates_and_kinds_have_words_in_every_language(language: str) -> None:
    say = messages.TEXTS[language]
    lost = {"lost_packets": 23, "lost_bytes": 33_304, "waited_ns": 1_020_000_000, "outstanding_bytes": 98_900}
    values: list[Json] = [{}, lost, lost | {"full_queue": True}, {"probe": True}, lost | {"outage_packets": 23},
                          lost | {"outage_packets": 5}, lost | {"lost_packets": 1}]  # fmt: skip
    said = [messages.stop_said(stop(cause, **one)) for cause in CAUSES for one in values]
    assert None not in said
    assert english_in(say.of(one) for one in said if one) == set()
    fates = [key.removeprefix("fate.") for key in messages.ENGLISH.texts if re.fullmatch(r"fate\.[a-z_]+", key)]
    none = np.zeros(len(fates), np.int64)
    box = Box(tuple(fates), np.arange(len(fates), dtype=np.uint8), none, none, none)
    assert english_in(box.sentences(np.arange(len(fates)), say).tolist()) == set()
    assert english_in(say(f"kind.{name}") for name in KINDS) == set()


def test_what_an_older_or_a_later_pktlogger_writes_of_a_stop_is_shown_as_it_is() -> None:
    assert messages.stop_said({"cause": "rto_after_loss", "text": "a text"}) is None
    assert messages.stop_said(stop("a_later_cause")) is None


def test_the_text_of_a_stop_stands_in_the_figure(tmp_path: Path) -> None:
    run = load_run(synthetic_run.seqack(tmp_path))
    loaded = timeline.load(run, run.trial(0))
    say: Messages = messages.TEXTS["ja"]
    japanese = timeline_figure(loaded, say=say)
    assert "シーケンス番号（バイト）" in japanese.layout.yaxis.title.text
    told = re.sub(r"<.*?>|\s", "", japanese.layout.annotations[0].text)
    assert told == "23パケットのテールドロップの1.02s後に再送タイムアウト（99,176バイト）"
