"""[path]: the keys of the delay box's parameters, in both directions and in one, and what the path has once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, ValidationError, create_model, model_validator

from netcommon import quantity
from scenarios.plan import model_files, rate_trace
from scenarios.plan.rate_trace import RateTrace
from scenarios.plan.values import MS, Quantity, Table, choice, count, model, of_option, ratio_or_model, whole, within

LIGHT_IN_FIBRE_MPS = 210_000_000  # lfp-1995: 8.4 ms there and back over 880 km
_FARTHEST_M = 10**9
_FASTEST_BPS = 400 * 10**9
# Of the queue disciplines: those whose outcome no seed changes (DualPI2 spreads its hits evenly; FQ-CoDel draws a hash)
# and those that give each flow a queue and a share of its own.
STILL_AQM = ("none", "codel", "policer", "dualpi2", "step")
PER_FLOW_AQM = ("fq_codel",)


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
    def trace(self) -> RateTrace | None:
        """The bottleneck's rate over time, in the place of ``rate``; None without one."""
        return rate_trace.read(str(self.values["rate_trace"]))

    @property
    def all_channels_bps(self) -> int:
        """Rate of the bottleneck's channels together, of a trace the one that sizes the box's memory; 0: none."""
        trace = self.trace
        return (trace.sizing_bps if trace else self.rate_bps) * int(self.values["channels"])

    @property
    def access_rate_bps(self) -> int:
        """Rate of the line in front of everything else; 0: none."""
        return int(self.values["access_rate"])

    def changed(self) -> dict[str, int | str]:
        """Parameters that differ from the box's own defaults, under the box's names."""
        return {
            parameter_of(key, value): value
            for key, value in self.values.items()
            if value != _DEFAULTS[key]
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
                found[parameter_of(key, value)] = model_files.column(value) if key in _WITH_FILES else value
        return found


_MODEL_OR_RATIO = ("loss", "loss_after")
_WITH_FILES = ("jitter", "rate_trace")
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


def _amount(unit: quantity.Unit, key: str) -> Quantity:
    return of_option(unit, "path", key)


# Keys that the path has once, all but those of the box's parameters; they do not change while it is in use.
_ONCE = (
    "distance", "mtu", "framing", "routers", "nic_rate", "nic_queue", "change", "poll", "spin", "granularity", "memory",
    "seed",
)  # fmt: skip
_WANT = "want TIME KEY=VALUE …, several of them between semicolons, for example '8s delay=150ms; 16s delay=100ms'"


def _parsed(text: str) -> list[tuple[int, dict[str, str]]]:
    """The text of ``change`` in order of time: ns from the start of the delay box on, and keys with their texts.
    ValueError when it is none; the values are not looked at. Rejected: a list of tables. A text can be swept and set on
    the command line, and it is one column of the results."""
    if text == "none":
        return []
    found = [_one_change(part.split()) for part in text.split(";")]
    times = [at_ns for at_ns, _ in found]
    if sorted(set(times)) != times:
        raise ValueError("the times do not rise; want the earliest change first, and each time once")
    return found


def _one_change(words: list[str]) -> tuple[int, dict[str, str]]:
    if len(words) < 2:
        raise ValueError(_WANT)
    values = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or not value or key in values:
            raise ValueError(f"'{word}': {_WANT}")
        if key in _ONCE:
            raise ValueError(f"'{key}': does not change while the path is in use; {_WANT}")
        values[key] = value
    return quantity.parse_duration_ns(words[0]), values


def _normal(value: Any) -> str:
    """The text of ``change`` with single spaces, so that the same changes are the same setting."""
    if not isinstance(value, str):
        raise ValueError(f"not a text; {_WANT}")
    _parsed(value)
    return "; ".join(" ".join(part.split()) for part in value.split(";"))


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
    nic_rate: Annotated[int, *within(quantity.RATE, 0, _FASTEST_BPS)] = 0
    nic_queue: Annotated[int, *whole(1, 100_000)] = 100
    change: Annotated[str, BeforeValidator(_normal)] = "none"
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

    @model_validator(mode="after")
    def _changes_fit(self) -> PathKeys:
        try:
            self.changes()
        except ValueError as error:
            raise ValueError(f"'change': {error}") from None
        return self

    def changes(self) -> list[Change]:
        """What changes on the path while it runs, in order of time. ValueError for a value that the box refuses."""
        return [_change(at_ns, values) for at_ns, values in _parsed(self.change)]

    def direction(self, which: Literal["ab", "ba"]) -> Direction:
        """The values of one direction. A prefixed key wins over the plain one."""
        said = self.__dict__  # pydantic's getattr would take most of the time of a plan with thousands of settings
        own = {key: said[directed] for key, directed in _DIRECTED[which]}
        found = {key: said[key] if value is None else value for key, value in own.items()}
        if self.distance is not None and own["delay"] is None:
            found["delay"] = round(self.distance * 10**9 / LIGHT_IN_FIBRE_MPS)
        return Direction(found)

    def phases(self, which: Literal["ab", "ba"]) -> list[Direction]:
        """The values of one direction as the path begins, and after each change."""
        found = [self.direction(which)]
        for change in self.changes():
            values = change.ab if which == "ab" else change.ba
            found.append(Direction({**found[-1].values, **values}))
        return found

    def rtt_ns(self) -> int:
        """Round-trip time of the empty path: without queueing and jitter."""
        return self.direction("ab").delay_ns + self.direction("ba").delay_ns


DIRECTION_KEYS = tuple(key for key in PathKeys.model_fields if key not in _ONCE)
_DIRECTED = {which: [(key, f"{which}_{key}") for key in DIRECTION_KEYS] for which in ("ab", "ba")}
_DEFAULTS = {key: field.default for key, field in PathKeys.model_fields.items()}

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


@dataclass(frozen=True)
class Change:
    """Parameters of both directions from ``at_ns`` of the box's clock on: keys of [path] without prefix → values."""

    at_ns: int
    ab: Mapping[str, int | str]
    ba: Mapping[str, int | str]


def _change(at_ns: int, values: Mapping[str, str]) -> Change:
    """A change with its values in base units. ValueError with the key when one is no key or not allowed."""
    try:
        path = PathTable.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None

    def of(which: Literal["ab", "ba"]) -> dict[str, int | str]:
        direction = path.direction(which).values
        keys = [key.removeprefix(f"{which}_") for key in values if key.removeprefix(f"{which}_") in DIRECTION_KEYS]
        return {key: direction[key] for key in keys}

    return Change(at_ns, of("ab"), of("ba"))
