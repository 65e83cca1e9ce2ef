"""[path]: the keys of the delay box's parameters, in both directions and in one, and what the path has once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_type_hints

from pydantic import BeforeValidator, PlainSerializer, create_model, model_validator

from netcommon import quantity
from scenarios.plan.values import MS, Table, choice, count, model, of_option, ratio_or_model, whole, within

LIGHT_IN_FIBRE_MPS = 210_000_000  # lfp-1995: 8.4 ms there and back over 880 km
_FARTHEST_M = 10**9


@dataclass(frozen=True)
class Direction:
    """The delay box's parameters in one direction: keys of [path] without prefix → values in base units, or texts."""

    values: Mapping[str, int | str]

    @property
    def delay_ns(self) -> int:
        """Propagation delay, one way."""
        return int(self.values["delay"])

    @property
    def rate_bps(self) -> int:
        """Rate of the bottleneck; 0: none."""
        return int(self.values["rate"])

    @property
    def all_channels_bps(self) -> int:
        """Rate of the bottleneck's channels together; 0: none."""
        return self.rate_bps * int(self.values["channels"])

    @property
    def access_rate_bps(self) -> int:
        """Rate of the line in front of everything else; 0: none."""
        return int(self.values["access_rate"])

    def changed(self) -> dict[str, int | str]:
        """Parameters that differ from the box's own defaults, under the box's names."""
        return {
            parameter_of(key, value): value
            for key, value in self.values.items()
            if value != PathKeys.model_fields[key].default
        }

    def columns(self) -> dict[str, int | str | None]:
        """Every parameter under the box's name, for params.json. `loss` has two columns: its number (null: a model) and
        its text."""
        found: dict[str, int | str | None] = {}
        for key, value in self.values.items():
            if key in _MODEL_OR_RATIO:
                found[f"{key}_ppb"] = value if isinstance(value, int) else None
                found[key] = quantity.format_value(quantity.RATIO, value) if isinstance(value, int) else value
            else:
                found[parameter_of(key, value)] = value
        return found


_MODEL_OR_RATIO = ("loss", "loss_after")
# The unit at the end of a parameter's name; a test compares these names with the box's.
_SUFFIXES = {
    "delay": "_ns", "rate": "_bps", "queue": "_bytes", "access_rate": "_bps", "loss": "_ppb", "loss_after": "_ppb",
    "duplicate": "_ppb", "corrupt": "_ppb", "forge": "_ppb", "reorder": "_ppb", "reorder_by": "_ns", "pace": "_bps",
    "bunch": "_ns", "pace_buffer": "_bytes", "drain_rate": "_bps", "drain_buffer": "_bytes", "harmonize": "_bps",
}  # fmt: skip


def parameter_of(key: str, value: int | str = 0) -> str:
    """The box's name, as in its `show`, for a key of [path] (``queue`` → ``queue_bytes``). ``loss`` has two names; the
    kind of ``value`` decides. No tool is asked: these are also columns of results, which are read without the tool."""
    return key + _SUFFIXES.get(key, "") if isinstance(value, int) else key


def columns_of(key: str) -> tuple[str, ...]:
    """Columns of the results that a key of [path] fills; the number comes before the text (``Direction.columns``)."""
    if key in _MODEL_OR_RATIO:
        return f"{key}_ppb", key
    return (parameter_of(key, PathKeys.model_fields[key].default),)


def _amount(unit: quantity.Unit, key: str) -> tuple[BeforeValidator, PlainSerializer]:
    return of_option(unit, "path", key)


class PathKeys(Table):
    """[path] without prefixes: first the delay box's parameters, named as its options with ``_``, then the keys that
    the path has once. 0 means none or no bound; None means the box's own default. Defaults are the options' own, except
    that of framing (a test compares them). ``distance`` (metres of fibre) is another way to say ``delay``."""

    delay: Annotated[int, *_amount(quantity.DURATION, "delay")] = 0
    rate: Annotated[int, *_amount(quantity.RATE, "rate")] = 0
    queue: Annotated[int, *_amount(quantity.BYTES, "queue")] = 0
    loss: Annotated[int | str, *ratio_or_model("loss")] = 0
    access_rate: Annotated[int, *_amount(quantity.RATE, "access_rate")] = 0
    jitter: Annotated[str, *model("jitter")] = "none"
    jitter_order: Annotated[str, *choice("path", "jitter_order")] = "keep"
    rate_trace: Annotated[str, *model("rate-trace")] = "none"
    channels: Annotated[int, *count("path", "channels")] = 1
    balance: Annotated[str, *choice("path", "balance")] = "flow"
    queue_packets: Annotated[int, *count("path", "queue_packets")] = 0
    queue_drop: Annotated[str, *choice("path", "queue_drop")] = "tail"
    aqm: Annotated[str, *model("aqm")] = "none"
    only: Annotated[str, *model("only")] = "all"
    loss_after: Annotated[int | str, *ratio_or_model("loss-after")] = 0
    duplicate: Annotated[int, *_amount(quantity.RATIO, "duplicate")] = 0
    corrupt: Annotated[int, *_amount(quantity.RATIO, "corrupt")] = 0
    forge: Annotated[int, *_amount(quantity.RATIO, "forge")] = 0
    reorder: Annotated[int, *_amount(quantity.RATIO, "reorder")] = 0
    reorder_by: Annotated[int, *_amount(quantity.DURATION, "reorder_by")] = MS
    bunch: Annotated[int, *_amount(quantity.DURATION, "bunch")] = 0
    bunch_packets: Annotated[int, *count("path", "bunch_packets")] = 0
    pace: Annotated[int, *_amount(quantity.RATE, "pace")] = 0
    pace_packets: Annotated[int, *count("path", "pace_packets")] = 0
    pace_buffer: Annotated[int, *_amount(quantity.BYTES, "pace_buffer")] = 0
    drain_rate: Annotated[int, *_amount(quantity.RATE, "drain_rate")] = 0
    drain_buffer: Annotated[int, *_amount(quantity.BYTES, "drain_buffer")] = 0
    harmonize: Annotated[int, *_amount(quantity.RATE, "harmonize")] = 0
    distance: Annotated[int, *within(quantity.DISTANCE, 0, _FARTHEST_M)] | None = None
    mtu: Annotated[int, *whole(1280, 9216)] = 1500
    framing: Annotated[str, *choice("path", "framing")] = "ip"
    routers: Annotated[int, *whole(2, 16)] = 2
    poll: Annotated[int, *_amount(quantity.DURATION, "poll")] | None = None
    spin: Annotated[int, *_amount(quantity.DURATION, "spin")] | None = None
    granularity: Annotated[int, *_amount(quantity.DURATION, "granularity")] | None = None
    memory: Annotated[int, *_amount(quantity.BYTES, "memory")] | None = None
    seed: Annotated[int, *whole(0, 2**53)] | None = None

    @model_validator(mode="after")
    def _one_delay(self) -> PathKeys:
        if self.distance is not None and self.delay:
            raise ValueError("give either 'delay' or 'distance'")
        return self

    def direction(self, which: Literal["ab", "ba"]) -> Direction:
        """The values of one direction. A prefixed key wins over the plain one."""

        def pick(key: str) -> int | str:
            own: int | str | None = getattr(self, f"{which}_{key}")
            common: int | str = getattr(self, key)
            if key == "delay" and self.distance is not None:
                common = round(self.distance * 10**9 / LIGHT_IN_FIBRE_MPS)
            return common if own is None else own

        return Direction({key: pick(key) for key in DIRECTION_KEYS})

    def rtt_ns(self) -> int:
        """Round-trip time of the empty path: without queueing and jitter."""
        return self.direction("ab").delay_ns + self.direction("ba").delay_ns


_ONCE = ("distance", "mtu", "framing", "routers", "poll", "spin", "granularity", "memory", "seed")
DIRECTION_KEYS = tuple(key for key in PathKeys.model_fields if key not in _ONCE)

if TYPE_CHECKING:

    class PathTable(PathKeys):
        """[path]: host – routers – delay box – routers – host. Each parameter of the box also as ``ab_…`` (sender to
        receiver) and ``ba_…`` (back)."""
else:
    _hints = get_type_hints(PathKeys, include_extras=True)
    PathTable = create_model(
        "PathTable",
        __base__=PathKeys,
        **{f"{which}_{key}": (_hints[key] | None, None) for which in ("ab", "ba") for key in DIRECTION_KEYS},
    )
