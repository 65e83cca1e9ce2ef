"""The texts of the timeline by their keys (messages.toml). The words of a limit are pktlogger's in English."""

from __future__ import annotations

from pathlib import Path

from dashboard.core.messages import DEFAULT, Messages, Said, counted, load
from dashboard.core.runs import Json
from netcommon import readable
from scenarios.plan.causes import ALL_LIMITS

_LIMITS = {f"limit.{name}": cause.words for name, cause in ALL_LIMITS.items()}
TEXTS = load(Path(__file__).with_name("messages.toml"), _LIMITS)
ENGLISH = TEXTS[DEFAULT]


def limit_words(say: Messages, name: str) -> str:
    """The words that complete "limited by …"; the bare name for a limit that only a later pktlogger knows."""
    return say(key) if (key := f"limit.{name}") in say else name


def fate_key(name: str) -> str:
    """The key of a packet's fate in the delay box."""
    return key if (key := f"fate.{name}") in ENGLISH else "fate.unknown"


def fate_words(say: Messages, name: str, *, long: bool = False) -> str:
    """The words for a packet's fate: in a legend, or, when `long`, in a sentence about one packet."""
    return say(f"{fate_key(name)}.long" if long else fate_key(name))


def stop_said(stop: Json) -> Said | None:
    """The text of a stop in pktlogger's summary, by keys; in English it equals pktlogger's own text. None if an older
    pktlogger wrote no values, and for a cause that only a later one knows."""
    if "waited_ns" not in stop:
        return None
    key = f"stop.{stop['cause']}"
    values: Json = {
        "waited": readable.seconds(stop["waited_ns"]),
        "bytes": f"{stop['lost_bytes']:,}",
        "outstanding": f"{stop['outstanding_bytes']:,}",
    }
    if stop["cause"] == "rto_after_lost_retransmission" and stop["full_queue"]:
        key = "stop.rto_after_dropped_retransmission"
    elif stop["probe"]:
        key = "stop.probe"
    said = counted(key, stop["lost_packets"], **values) if f"{key}.one" in ENGLISH else [key, values]
    if said[0] not in ENGLISH:
        return None
    if 0 < stop["outage_packets"] < stop["lost_packets"]:
        return ["stop.outage_of_some", {"text": said, "n": f"{stop['outage_packets']:,}"}]
    return ["stop.outage", {"text": said}] if stop["outage_packets"] else said
