"""The scenario model: what a scenario file may say, with ranges and defaults (see SCENARIO.md).

Inside, values are integers in base units (ns, bit/s, bytes, ppb); outside they are texts with units. Unknown keys are
errors.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from netcommon import quantity
from scenarios.plan import profiles
from scenarios.plan.events import Event
from scenarios.plan.expect import Expect
from scenarios.plan.gateway import Gateway
from scenarios.plan.path import OwnPath, PathTable
from scenarios.plan.route import Route
from scenarios.plan.transfer import Transfer
from scenarios.plan.values import PORTABLE_NAME, S, Span, Table, of_option, whole, within

PAPER = r"^([^/]+/[^/]+)?$"
MOST_PAIRS, MOST_FLOWS = 16, 31
PAIR_NUMBER = r"^([1-9]|1[0-6])$"
INTERFACE = r"^[^/\s]{1,15}$"
ADDRESS = r"^[0-9a-fA-F.:]+$"


class About(Table):
    """[scenario]: the scenario's name, and the row of a paper that it reproduces. ``group``: the heading under which
    ``lfp list`` shows it."""

    name: str = Field(pattern=PORTABLE_NAME)
    title: str = ""
    paper: str = Field(default="", pattern=PAPER)
    group: Literal["papers", "today", "teaching", "checks"] | None = None
    description: str = ""
    case: str | None = None


GATEWAY_POINTS = ("gw1-in", "gw1-out", "gw2-in", "gw2-out")


class Flow(Transfer):
    """[flow.NAME]: a flow in addition to [transfer]'s. It takes every key that it leaves out from [transfer]
    (`flows.spelled_out`). ``pair``: the host pair that it is on; ``start``: how long after [transfer]'s it starts."""

    pair: Annotated[int, *whole(1, MOST_PAIRS)] = 1
    start: Annotated[int, *within(quantity.DURATION, 0, 24 * 3600 * S)] = 0


class Host(Table):
    """[pair.N.sender] or [pair.N.receiver]: a host that exists already. It is reached over SSH (``ssh``: what ssh(1)
    takes as a destination), or is a network namespace of this machine (``netns``: a name of ``ip netns``). ``address``:
    where its tools listen and are reached; ``rttcp``: the program there."""

    address: str = Field(pattern=ADDRESS)
    ssh: str | None = Field(default=None, pattern=r"^[^-\s]\S*$")
    netns: str | None = Field(default=None, pattern=PORTABLE_NAME)
    rttcp: str = "rttcp"

    @model_validator(mode="after")
    def _one_place(self) -> Host:
        if (self.ssh is None) == (self.netns is None):
            raise ValueError("give either 'ssh' or 'netns': where the host is")
        return self


class Pair(Table):
    """[pair.N]: settings of pair N alone. Without ``gateway`` it is behind the gateways of [gateway]. ``path``: in
    front of [path]. ``sender`` and ``receiver``: hosts that exist already, with topology.kind "existing"."""

    gateway: Gateway | None = None
    path: OwnPath | None = None
    sender: Host | None = None
    receiver: Host | None = None


class TopologyTable(Table):
    """[topology]: how the host pairs are joined. ``dumbbell``: all pairs cross one bottleneck. ``parking-lot``: pair 1
    crosses ``hops`` bottlenecks, pair N + 1 crosses the Nth of them. ``existing``: the hosts are there already.
    ``left``, ``right``: with ``existing``, interfaces of this machine towards senders and receivers, which the delay
    box joins; without them the path is what lies between the hosts."""

    kind: Literal["dumbbell", "parking-lot", "existing"] = "dumbbell"
    hops: Annotated[int, *whole(2, 8)] | None = None
    left: str | None = Field(default=None, pattern=INTERFACE)
    right: str | None = Field(default=None, pattern=INTERFACE)

    @model_validator(mode="after")
    def _of_its_kind(self) -> TopologyTable:
        if self.hops is None and self.kind == "parking-lot":
            raise ValueError("'hops' is missing, which kind 'parking-lot' needs; set for example hops = 3")
        if self.hops is not None and self.kind != "parking-lot":
            raise ValueError(f"'hops': not with kind '{self.kind}'; set kind = \"parking-lot\", or leave hops out")
        for key in ("left", "right"):
            if getattr(self, key) is not None and self.kind != "existing":
                raise ValueError(f"'{key}': not with kind '{self.kind}', which makes its own; use kind = \"existing\"")
        if (self.left is None) != (self.right is None):
            raise ValueError("give both 'left' and 'right', between which the delay box is, or neither")
        return self


class ProfileTable(Table):
    """[profile]: the set of TCP settings that both hosts use, and ``sysctl``: those that the scenario adds to it. The
    additions are one text, so that they can be swept, set on the command line and stored in a column of the results."""

    name: str = "modern"
    sysctl: str = "none"

    @field_validator("sysctl")
    @classmethod
    def _normal(cls, value: str) -> str:
        own = profiles.parsed(value)
        return "; ".join(f"{name}={text}" for name, text in own.items()) or "none"


Point = Literal["snd", "gw1-in", "gw1-out", "box", "gw2-in", "gw2-out", "rcv"]
ALL_POINTS: tuple[Point, ...] = get_args(Point)
HEADERS_BYTES = 128  # room for all headers, also for those in a tunnel


def is_all(points: Any) -> bool:
    """Whether a scenario asks for all points that there are."""
    return points in ("all", ["all"])


class Capture(Table):
    """[capture]: where packets are recorded. Points are the interfaces of sender and receiver, those of the gateways
    where the sender's data comes in and goes out, and the delay box itself. ``"all"``: all points that there are.
    ``snap`` None: TCP packets are kept with all headers and no data, others up to ``HEADERS_BYTES``."""

    points: tuple[Point, ...] = ()
    snap: Annotated[int, *of_option(quantity.BYTES, "capture", "snap")] | None = None

    @property
    def snap_bytes(self) -> int:
        """The largest number of bytes kept of any packet."""
        return self.snap or HEADERS_BYTES

    @field_validator("points", mode="before")
    @classmethod
    def _one_name(cls, value: Any) -> Any:
        """Accepts a single point without a list."""
        return (value,) if isinstance(value, str) else value

    @field_validator("points")
    @classmethod
    def _each_once(cls, points: tuple[Point, ...]) -> tuple[Point, ...]:
        if twice := next((point for point in points if points.count(point) > 1), None):
            raise ValueError(f"'{twice}' is given twice; name each point once")
        return points


class Cpu(Table):
    """[cpu]: the processor time of a system call by gateways, by the hosts' transfer tools or by both, in virtual time
    only: ``call``, plus the time to move its bytes at ``rate``. 0: none."""

    of: Literal["gateways", "hosts", "all"] = "gateways"
    call: Annotated[int, *within(quantity.DURATION, 0, S)] = 0
    rate: Annotated[int, *within(quantity.RATE, 0, 100 * 10**9)] = 0

    @field_validator("rate")
    @classmethod
    def _measurable(cls, rate: int) -> int:
        if 0 < rate < 10**6:
            raise ValueError("below 1Mbit; want 1Mbit to 100Gbit, or 0 for none")
        return rate

    @property
    def has_price(self) -> bool:
        """Whether any call costs anything."""
        return bool(self.call or self.rate)

    @property
    def byte_ps(self) -> int:
        """What a byte costs, in picoseconds."""
        return round(8 * 10**12 / self.rate) if self.rate else 0


class Run(Table):
    """[run]: repetitions, order and limits. ``seed`` None: a fresh one, which is recorded. ``timeout`` None: derived
    from the estimate. ``lateness``: the p99 lateness of the box's packets that a valid trial may have; None: derived
    from the path's RTT. ``retries``: how often a trial that was not valid is measured again, in real time.
    ``precision``: a setting gets no more repeats once its interval is that narrow (`run.enough`)."""

    repeat: Annotated[int, *whole(1, 10_000)] = 1
    order: Literal["random", "listed"] = "random"
    seed: Annotated[int, *whole(0, 2**53)] | None = None
    timeout: Span | None = None
    lateness: Annotated[int, *of_option(quantity.DURATION, "run", "lateness")] | None = None
    retries: Annotated[int, *whole(0, 100)] = 0
    precision: Annotated[int, *within(quantity.RATIO, 1, 10**9)] | None = None

    @model_validator(mode="after")
    def _repeats_for_precision(self) -> Run:
        if self.precision is not None and self.repeat < 6:
            raise ValueError("'precision': at least 5 repeats come first; set run.repeat, the most, to 6 or more")
        return self


class Region(Table):
    """A named stretch of the report's x axis; ``start`` and ``end`` are in the unit of ``x``."""

    label: str
    start: float = Field(alias="from")
    end: float = Field(alias="to")

    @model_validator(mode="after")
    def _in_order(self) -> Region:
        if not self.start < self.end:
            raise ValueError(f"'from': not below 'to', which is {self.end}; want the smaller one first")
        return self


class Report(Table):
    """[report]: how the dashboard draws the results. ``x``, ``y``, ``value`` and ``series`` are columns of the results.
    A sweep draws ``y`` over ``x``, a matrix ``value`` over ``x`` and ``y``."""

    kind: Literal["sweep", "timeline", "matrix"] = "sweep"
    x: str = "trial"
    y: str = "short_term_bps"
    value: str = "short_term_bps"
    series: str | None = None
    reference: tuple[str, ...] = ()
    regions: tuple[Region, ...] = ()


class Scenario(Table):
    """One fully resolved setting: everything that a trial needs. `plan.make_plan` has expanded the sweep before."""

    scenario: About
    path: PathTable = PathTable()
    route: Route = Route()
    topology: TopologyTable = TopologyTable()
    transfer: Transfer
    flow: dict[Annotated[str, Field(pattern=PORTABLE_NAME)], Flow] = Field(default_factory=dict)
    profile: ProfileTable = ProfileTable()
    gateway: Gateway = Gateway()
    pair: dict[Annotated[str, Field(pattern=PAIR_NUMBER)], Pair] = Field(default_factory=dict)
    event: tuple[Event, ...] = ()
    cpu: Cpu = Cpu()
    capture: Capture = Capture()
    run: Run = Run()
    report: Report = Report()
    expect: tuple[Expect, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _all_points(cls, values: Any) -> Any:
        """Replaces ``capture.points = "all"`` by all points that there are with these gateways."""
        capture = values.get("capture") if isinstance(values, dict) else None
        if not isinstance(capture, dict) or not is_all(capture.get("points")):
            return values
        gateway = values.get("gateway") if isinstance(values.get("gateway"), dict) else {}
        nodes = gateway.get("kind", "none") != "none" and gateway.get("model") != "host"
        points = [point for point in ALL_POINTS if nodes or point not in GATEWAY_POINTS]
        return values | {"capture": capture | {"points": points}}

    def missing_point(self) -> str | None:
        """A capture point at a gateway that has no node of its own; None if there is no such point."""
        wanted = set(self.capture.points).intersection(GATEWAY_POINTS)
        return min(wanted) if wanted and not self.gateway.has_nodes else None


SWEEPABLE = ("path", "transfer", "flow", "profile", "gateway", "pair", "topology", "cpu", "capture", "scenario")
NAMED = ("flow", "pair")  # tables of tables: [flow.NAME], [pair.N]
LISTED: dict[str, type[Table]] = {"event": Event, "expect": Expect}  # [[event]], [[expect]]


def allowed_keys(table: tuple[str, ...]) -> list[str]:
    """Keys that a table of the file may have; () is the top level."""
    if not table:
        return [*Scenario.model_fields, "case", "sweep", "quick"]
    if table == ("scenario",):
        return [*About.model_fields, "extends"]
    if table[0] in LISTED:
        return list(LISTED[table[0]].model_fields)
    if table[0] in NAMED:
        return _keys_of_named(table)
    model: Any = Scenario
    for name in table:
        model = model.model_fields[name].annotation if name in getattr(model, "model_fields", {}) else None
    return [f.alias or name for name, f in model.model_fields.items()] if hasattr(model, "model_fields") else []


def _keys_of_named(table: tuple[str, ...]) -> list[str]:
    """Keys of [flow.NAME] and [pair.N], and of the tables in a pair. [flow] and [pair] themselves hold names."""
    if len(table) < 2:
        return []
    model: Any = {"flow": Flow, "pair": Pair}[table[0]]
    for name in table[2:]:
        annotation = model.model_fields[name].annotation if name in model.model_fields else None
        model = next((one for one in get_args(annotation) if hasattr(one, "model_fields")), None)
        if model is None:
            return []
    return [name for name in model.model_fields if name not in getattr(model, "REFUSED", ())]
