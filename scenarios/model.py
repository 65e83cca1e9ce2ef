"""The scenario model: what a scenario file may say, with ranges and defaults (see SCENARIO.md).

Values are integers in base units inside (ns, bit/s, bytes, ppb) and text with units outside; unknown keys are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, create_model, model_validator

from comet_delay.command import parameters_of
from comet_delay.options import refusal
from netcommon import quantity

_MS, _S = 10**6, 10**9


def _quantity(unit: quantity.Unit, low: int, high: int, zero: bool = False) -> tuple[BeforeValidator, PlainSerializer]:
    """Validator and serialiser of one quantity. Range in base units; ``zero``: 0 is allowed too (none, off)."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValueError(f"not a {unit.name}; want for example {unit.examples}")
        number = quantity.parse(unit, value if isinstance(value, str) else f"{Decimal(repr(value)):f}")
        if not (low <= number <= high or (zero and number == 0)):
            limits = f"{quantity.format_value(unit, low)} … {quantity.format_value(unit, high)}"
            raise ValueError(f"out of range; allowed: {'0 or ' if zero else ''}{limits}")
        return number

    def show(number: int) -> str:
        return quantity.format_value(unit, number)

    return BeforeValidator(read), PlainSerializer(show, when_used="json")


def _checked(option: str, text: str) -> str:
    """A model's text as it is, when the delay box takes it."""
    if reason := refusal(option, text):
        raise ValueError(reason)
    return text


def _model(option: str) -> tuple[BeforeValidator]:
    """Validator of a model's text: the delay box's own, so that nothing of its grammar is written twice."""

    def read(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError(f"not a text; see --{option} in comet-delay(1)")
        return _checked(option, value)

    return (BeforeValidator(read),)


def _ratio_or_model(option: str) -> tuple[BeforeValidator, PlainSerializer]:
    """A plain ratio becomes a number (ppb), anything with a colon is a model's text."""
    validator, _ = _quantity(quantity.RATIO, 0, quantity.RATIO_ONE_PPB)

    def read(value: Any) -> int | str:
        if isinstance(value, str) and ":" in value:
            return _checked(option, value)
        number: int = validator.func(value)  # type: ignore[call-arg]
        return number

    def show(value: int | str) -> str:
        return value if isinstance(value, str) else quantity.format_value(quantity.RATIO, value)

    return BeforeValidator(read), PlainSerializer(show, when_used="json")


Delay = Annotated[int, *_quantity(quantity.DURATION, 0, 60 * _S)]
Span = Annotated[int, *_quantity(quantity.DURATION, 100 * _MS, 24 * 3600 * _S)]
SamplePeriod = Annotated[int, *_quantity(quantity.DURATION, _MS, 60 * _S, zero=True)]
Rate = Annotated[int, *_quantity(quantity.RATE, 1000, 10**12, zero=True)]
Queue = Annotated[int, *_quantity(quantity.BYTES, 1, 2**40, zero=True)]
Ratio = Annotated[int, *_quantity(quantity.RATIO, 0, quantity.RATIO_ONE_PPB)]
Loss = Annotated[int | str, *_ratio_or_model("loss")]
LossAfter = Annotated[int | str, *_ratio_or_model("loss-after")]
Moderation = Annotated[int, *_quantity(quantity.DURATION, 0, 10 * _MS)]
Granularity = Annotated[int, *_quantity(quantity.DURATION, 0, 100 * _MS)]
Memory = Annotated[int, *_quantity(quantity.BYTES, 4 * 2**20, 2**42)]
Amount = Annotated[int, *_quantity(quantity.BYTES, 1, 2**50)]
Length = Annotated[int, *_quantity(quantity.BYTES, 1, 2**30)]
Window = Annotated[int, *_quantity(quantity.BYTES, 256, 2**30)]

PORTABLE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class Table(BaseModel):
    """A table of the file. Unknown keys are errors; instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class About(Table):
    """[scenario]: what this is and which row of the papers it reproduces."""

    name: str = Field(pattern=PORTABLE_NAME)
    title: str = ""
    paper: str = ""
    description: str = ""
    case: str | None = None


@dataclass(frozen=True)
class Direction:
    """The delay box's model in one direction: the keys of [path] without prefix → values in base units, or texts."""

    values: Mapping[str, int | str]

    @property
    def delay_ns(self) -> int:
        """Propagation delay, one way."""
        return int(self.values["delay"])

    @property
    def rate_bps(self) -> int:
        """Bottleneck; 0: none."""
        return int(self.values["rate"])

    @property
    def access_rate_bps(self) -> int:
        """Line in front of everything; 0: none."""
        return int(self.values["access_rate"])

    def changed(self) -> dict[str, int | str]:
        """What differs from the box's own default, by the box's names."""
        return {
            parameter_of(key, value): value
            for key, value in self.values.items()
            if value != PathKeys.model_fields[key].default
        }

    def columns(self) -> dict[str, int | str | None]:
        """Every parameter by the box's names, for params.json; of `loss` the number (null: a model) and the text."""
        found: dict[str, int | str | None] = {}
        for key, value in self.values.items():
            if key in _MODEL_OR_RATIO:
                found[f"{key}_ppb"] = value if isinstance(value, int) else None
                found[key] = quantity.format_value(quantity.RATIO, value) if isinstance(value, int) else value
            else:
                found[parameter_of(key, value)] = value
        return found


_MODEL_OR_RATIO = ("loss", "loss_after")


def parameter_of(key: str, value: int | str = 0) -> str:
    """A key of [path] as the box names it in `show` (``queue`` → ``queue_bytes``); ``loss`` by the kind of value."""
    names = parameters_of(key.replace("_", "-"))
    plain = [name for name in names if name != key]
    return plain[0] if plain and isinstance(value, int) else names[0]


class PathKeys(Table):
    """[path] without prefixes: the delay box's parameters, named as its options with ``_``, then what the path has
    once. 0: none, or the box's own."""

    delay: Delay = 0
    rate: Rate = 0
    queue: Queue = 0
    loss: Loss = 0
    access_rate: Rate = 0
    jitter: Annotated[str, *_model("jitter")] = "none"
    jitter_order: Literal["keep", "overtake"] = "keep"
    rate_trace: Annotated[str, *_model("rate-trace")] = "none"
    queue_packets: Annotated[int, Field(ge=0, le=2**32)] = 0
    queue_drop: Literal["tail", "head"] = "tail"
    aqm: Annotated[str, *_model("aqm")] = "none"
    loss_after: LossAfter = 0
    duplicate: Ratio = 0
    corrupt: Ratio = 0
    forge: Ratio = 0
    reorder: Ratio = 0
    reorder_by: Delay = _MS
    pace: Rate = 0
    pace_packets: Annotated[int, Field(ge=0, le=10**9)] = 0
    pace_buffer: Queue = 0
    harmonize: Rate = 0
    mtu: int = Field(default=1500, ge=1280, le=9216)
    framing: Literal["ip", "l2", "ethernet"] = "ip"
    routers: int = Field(default=2, ge=2, le=16)
    poll: Moderation | None = None
    spin: Moderation | None = None
    granularity: Granularity | None = None
    memory: Memory | None = None
    seed: int | None = Field(default=None, ge=0, le=2**53)

    def direction(self, which: Literal["ab", "ba"]) -> Direction:
        """One direction's values, the prefixed ones winning."""

        def pick(key: str) -> int | str:
            own: int | str | None = getattr(self, f"{which}_{key}")
            common: int | str = getattr(self, key)
            return common if own is None else own

        return Direction({key: pick(key) for key in DIRECTION_KEYS})

    def rtt_ns(self) -> int:
        """Round-trip time of the path without queueing and jitter."""
        return self.direction("ab").delay_ns + self.direction("ba").delay_ns


_ONCE = ("mtu", "framing", "routers", "poll", "spin", "granularity", "memory", "seed")
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


class Gateway(Table):
    """[gateway]: what stands between hosts and path at both ends. ``near``, ``far``: command lines of ``kind``
    command, and ``settle`` the time they get; from ``rate`` to ``carriage`` lft-gateway's options of these names."""

    kind: Literal["none", "lft", "command"] = "none"
    model: Literal["router", "proxy", "host"] = "router"
    rate: Annotated[int, *_quantity(quantity.RATE, 10**6, 10**12, zero=True)] = 0
    rate_mode: Literal["fixed", "auto"] = "fixed"
    recovery: Literal["gbn-strict", "gbn", "selective", "fec"] = "selective"
    redundancy: bool = True
    cipher: Literal["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "3des-cbc", "null"] = "aes-128-gcm"
    carriage: Literal["udp", "esp"] = "udp"
    near: str | None = None
    far: str | None = None
    settle: Delay = _S

    @model_validator(mode="after")
    def _commands_when_wanted(self) -> Gateway:
        if self.rate % 10**6:
            raise ValueError(f"rate {self.rate} bit/s is not a multiple of 1Mbit; want whole Mbit/s, or 0 for none")
        wanted = self.kind == "command"
        if wanted != (self.near is not None) or wanted != (self.far is not None):
            raise ValueError("kind 'command' takes 'near' and 'far', two command lines; the others take neither")
        return self

    @property
    def has_nodes(self) -> bool:
        """Whether gateways are nodes of their own: not without any, and not inside the hosts."""
        return self.kind != "none" and self.model != "host"


GATEWAY_POINTS = ("gw1-in", "gw1-out", "gw2-in", "gw2-out")


_CONGESTION = r"^[a-z0-9_]{1,15}(:[a-z0-9_.=,]+)?$"  # NAME or, for those of rttcp, NAME:KEY=VALUE,…


class Transfer(Table):
    """[transfer]: what is sent. Give ``bytes`` or ``duration``; no ``window``: the kernel sizes it. ``zerocopy`` of
    rttcp, at both ends; None: in virtual time only, where copying costs but takes no time."""

    tool: Literal["rttcp", "iperf3"] = "rttcp"
    bytes: Amount | None = None
    duration: Span | None = None
    length: Length = 8 * 1024
    window: Window | None = None
    congestion: str | None = Field(default=None, pattern=_CONGESTION)
    second: str | None = Field(default=None, pattern=_CONGESTION)
    nodelay: bool = False
    zerocopy: bool | None = None
    sample: SamplePeriod = 10 * _MS
    family: Literal["ipv4", "ipv6"] = "ipv4"

    @model_validator(mode="after")
    def _one_amount(self) -> Transfer:
        if (self.bytes is None) == (self.duration is None):
            raise ValueError("give either 'bytes' or 'duration'")
        return self


class ProfileTable(Table):
    """[profile]: which set of TCP settings both hosts use."""

    name: str = "modern"


class Capture(Table):
    """[capture]: where packets are recorded: at the sender's and the receiver's interface, at the gateways', where
    the sender's data comes in and goes out, and by the delay box itself."""

    points: tuple[Literal["snd", "gw1-in", "gw1-out", "box", "gw2-in", "gw2-out", "rcv"], ...] = ()
    snap: int = Field(default=128, ge=64, le=65535)


class Run(Table):
    """[run]: repetitions, order and limits. No ``seed``: a fresh one, recorded. No ``timeout``: from the estimate."""

    repeat: int = Field(default=1, ge=1, le=10_000)
    order: Literal["random", "listed"] = "random"
    seed: int | None = Field(default=None, ge=0, le=2**53)
    timeout: Span | None = None


class Region(Table):
    """A stretch of the report's x axis with a name, in the unit of ``x``."""

    label: str
    start: float = Field(alias="from")
    end: float = Field(alias="to")


class Report(Table):
    """[report]: how the dashboard draws the results. ``x``, ``y``, ``value``, ``series`` are columns of the results; a
    matrix has ``value`` over ``x`` and ``y``."""

    kind: Literal["sweep", "timeline", "matrix"] = "sweep"
    x: str = "trial"
    y: str = "short_term_bps"
    value: str = "short_term_bps"
    series: str | None = None
    reference: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()


class Scenario(Table):
    """One fully resolved setting: everything a trial needs. The sweep is taken apart before (plan.py)."""

    scenario: About
    path: PathTable = PathTable()
    transfer: Transfer
    profile: ProfileTable = ProfileTable()
    gateway: Gateway = Gateway()
    capture: Capture = Capture()
    run: Run = Run()
    report: Report = Report()

    @model_validator(mode="after")
    def _points_exist(self) -> Scenario:
        if not self.gateway.has_nodes and (missing := set(self.capture.points).intersection(GATEWAY_POINTS)):
            found = f"kind '{self.gateway.kind}', model '{self.gateway.model}'"
            raise ValueError(f"capture.points has {min(missing)}, and there is no such node with [gateway] {found}")
        return self


SWEEPABLE = ("path", "transfer", "profile", "gateway", "capture", "scenario")


def allowed_keys(table: tuple[str, ...]) -> list[str]:
    """Keys that a table of the file may have; the top level for ()."""
    if not table:
        return [*Scenario.model_fields, "case", "sweep", "quick"]
    if table == ("scenario",):
        return [*About.model_fields, "extends"]
    model: Any = Scenario
    for name in table:
        model = model.model_fields[name].annotation if name in getattr(model, "model_fields", {}) else None
    return [f.alias or name for name, f in model.model_fields.items()] if hasattr(model, "model_fields") else []
