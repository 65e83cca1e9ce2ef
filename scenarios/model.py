"""The scenario model: what a scenario file may say, with ranges and defaults (see SCENARIO.md).

Values are integers in base units inside (ns, bit/s, bytes, ppb) and text with units outside; unknown keys are errors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

from netcommon import quantity

_MS, _S = 10**6, 10**9


def _quantity(unit: quantity.Unit, low: int, high: int, zero: bool = False) -> tuple[BeforeValidator, PlainSerializer]:
    """Validator and serialiser of one quantity. Range in base units; ``zero``: 0 is allowed too (none, off)."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise ValueError(f"not a {unit.name}; want for example {unit.examples}")
        number = quantity.parse(unit, value if isinstance(value, str) else f"{value:.18g}")
        if not (low <= number <= high or (zero and number == 0)):
            limits = f"{quantity.format_value(unit, low)} … {quantity.format_value(unit, high)}"
            raise ValueError(f"out of range; allowed: {'0 or ' if zero else ''}{limits}")
        return number

    def show(number: int) -> str:
        return quantity.format_value(unit, number)

    return BeforeValidator(read), PlainSerializer(show, when_used="json")


Delay = Annotated[int, *_quantity(quantity.DURATION, 0, 60 * _S)]
Span = Annotated[int, *_quantity(quantity.DURATION, 100 * _MS, 24 * 3600 * _S)]
SamplePeriod = Annotated[int, *_quantity(quantity.DURATION, _MS, 60 * _S, zero=True)]
Rate = Annotated[int, *_quantity(quantity.RATE, 1000, 10**12, zero=True)]
Queue = Annotated[int, *_quantity(quantity.BYTES, 1, 2**40, zero=True)]
Loss = Annotated[int, *_quantity(quantity.RATIO, 0, quantity.RATIO_ONE_PPB)]
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


class Direction(Table):
    """The delay box's model in one direction. ``rate``, ``queue``, ``access_rate`` 0: none, the box's own, none."""

    delay_ns: int
    rate_bps: int
    queue_bytes: int
    loss_ppb: int
    access_rate_bps: int


class PathTable(Table):
    """[path]: host – routers – delay box – routers – host. ``ab_`` is sender to receiver, ``ba_`` back."""

    delay: Delay = 0
    rate: Rate = 0
    queue: Queue = 0
    loss: Loss = 0
    access_rate: Rate = 0
    ab_delay: Delay | None = None
    ab_rate: Rate | None = None
    ab_queue: Queue | None = None
    ab_loss: Loss | None = None
    ab_access_rate: Rate | None = None
    ba_delay: Delay | None = None
    ba_rate: Rate | None = None
    ba_queue: Queue | None = None
    ba_loss: Loss | None = None
    ba_access_rate: Rate | None = None
    mtu: int = Field(default=1500, ge=1280, le=9216)
    framing: Literal["ip", "l2", "ethernet"] = "ip"
    routers: int = Field(default=2, ge=2, le=16)

    def direction(self, which: Literal["ab", "ba"]) -> Direction:
        """One direction's values, the prefixed ones winning."""

        def pick(key: str) -> int:
            own: int | None = getattr(self, f"{which}_{key}")
            common: int = getattr(self, key)
            return common if own is None else own

        return Direction(
            delay_ns=pick("delay"),
            rate_bps=pick("rate"),
            queue_bytes=pick("queue"),
            loss_ppb=pick("loss"),
            access_rate_bps=pick("access_rate"),
        )

    def rtt_ns(self) -> int:
        """Round-trip time of the path without queueing."""
        return self.direction("ab").delay_ns + self.direction("ba").delay_ns


class Transfer(Table):
    """[transfer]: what is sent. Give ``bytes`` or ``duration``; no ``window``: the kernel sizes it."""

    tool: Literal["rttcp"] = "rttcp"
    bytes: Amount | None = None
    duration: Span | None = None
    length: Length = 8 * 1024
    window: Window | None = None
    congestion: str | None = Field(default=None, pattern=r"^[a-z0-9_]{1,15}$")
    nodelay: bool = False
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
    """[capture]: where packets are recorded: at the sender's and the receiver's interface."""

    points: tuple[Literal["snd", "rcv"], ...] = ()
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
    capture: Capture = Capture()
    run: Run = Run()
    report: Report = Report()


SWEEPABLE = ("path", "transfer", "profile", "capture")


def allowed_keys(table: tuple[str, ...]) -> list[str]:
    """Keys that a table of the file may have; the top level for ()."""
    if not table:
        return [*Scenario.model_fields, "sweep", "quick"]
    if table == ("scenario",):
        return [*About.model_fields, "extends"]
    model: Any = Scenario
    for name in table:
        model = model.model_fields[name].annotation if name in getattr(model, "model_fields", {}) else None
    return [f.alias or name for name, f in model.model_fields.items()] if hasattr(model, "model_fields") else []
