"""[path]: the keys of the delay box's parameters, for both directions and for one, and the keys that the path has once.

Each key is one row, and everything else follows from it (keys.py). The row of a new parameter goes behind
``harmonize``, or to the end if the path has it only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, get_type_hints

from pydantic import BeforeValidator, ValidationError, create_model, model_validator

from netcommon import quantity
from scenarios.plan import model_files, path_trace, rate_trace
from scenarios.plan.keys import row, rows
from scenarios.plan.rate_trace import RateTrace
from scenarios.plan.values import MS, Quantity, Table, choice, count, model, of_option, ratio_or_model, whole, within

LIGHT_IN_FIBRE_MPS = 210_000_000  # lfp-1995: 8.4 ms there and back over 880 km
_FARTHEST_M = 10**9
_FASTEST_BPS = 400 * 10**9
# Queue disciplines whose outcome no seed changes (DualPI2 spreads its hits evenly; FQ-CoDel draws a hash), and those
# that give each flow a queue and a share of its own.
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
    def queue_bytes(self) -> int:
        """What the queue in front of the bottleneck holds; 0: no bound."""
        return int(self.values["queue"])

    @property
    def trace(self) -> RateTrace | None:
        """The bottleneck's rate over time, instead of ``rate``; None without one."""
        return rate_trace.read(str(self.values["rate_trace"]))

    @property
    def all_channels_bps(self) -> int:
        """Rate of the bottleneck's channels together; for a trace, the rate that sizes the box's memory; 0: none."""
        trace = self.trace
        return (trace.sizing_bps if trace else self.rate_bps) * int(self.values["channels"])

    @property
    def access_rate_bps(self) -> int:
        """Rate of the line in front of everything else; 0: none."""
        return int(self.values["access_rate"])

    def changed(self) -> dict[str, int | str]:
        """Parameters that differ from the box's own defaults, under the box's names."""
        return {parameter_of(key, value): value for key, value in self.values.items() if value != _DEFAULTS[key]}

    def columns(self) -> dict[str, int | str | None]:
        """Every parameter under the box's name, for params.json. `loss` has two columns: its number (null: a model) and
        its text."""
        values: dict[str, int | str | None] = {}
        for key, value in self.values.items():
            if key in _MODEL_OR_RATIO:
                values[f"{key}_ppb"] = value if isinstance(value, int) else None
                values[key] = quantity.format_value(quantity.RATIO, value) if isinstance(value, int) else value
            else:
                values[parameter_of(key, value)] = model_files.column(value) if key in _WITH_FILES else value
        return values


_MODEL_OR_RATIO = ("loss", "loss_after")
_WITH_FILES = ("jitter", "rate_trace")


def parameter_of(key: str, value: int | str = 0) -> str:
    """The box's name, as in its `show`, for a key of [path] (``queue`` → ``queue_bytes``). ``loss`` has two names; the
    kind of ``value`` decides. No tool is asked: these are also columns of results, which are read without the tool."""
    return _COLUMNS[key] if isinstance(value, int) else key


def columns_of(key: str) -> tuple[str, ...]:
    """Columns of the results that a key of [path] fills; the number comes before the text (``Direction.columns``)."""
    if key in _MODEL_OR_RATIO:
        return f"{key}_ppb", key
    return (parameter_of(key, PathKeys.model_fields[key].default),)


def _amount(unit: quantity.Unit, key: str) -> Quantity:
    return of_option(unit, "path", key)


_WANT = (
    "want TIME KEY=VALUE …, several of them between semicolons, for example '8s delay=150ms; 16s delay=100ms', or "
    "trace:FILE"
)


def _parsed(text: str) -> list[tuple[int, dict[str, str]]]:
    """The text of ``change`` in order of time: ns from the start of the delay box on, and keys with their texts.
    ValueError for a malformed text; the values are not checked. Rejected: a list of tables. A text can be swept and set
    on the command line, and it is one column of the results."""
    if text == "none":
        return []
    changes = [_one_change(part.split()) for part in text.split(";")]
    times = [at_ns for at_ns, _ in changes]
    if sorted(set(times)) != times:
        raise ValueError("the times do not rise; want the earliest change first, and each time once")
    return changes


def _one_change(words: list[str]) -> tuple[int, dict[str, str]]:
    if len(words) < 2:
        raise ValueError(_WANT)
    values = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or not value or key in values:
            raise ValueError(f"'{word}': {_WANT}")
        if key in ONCE and key != "mtu":
            raise ValueError(f"'{key}': does not change while the path is in use; {_WANT}")
        values[key] = value
    return quantity.parse_duration_ns(words[0]), values


def _normal(value: Any) -> str:
    """The text of ``change`` with single spaces, so that the same changes are the same setting; of a trace the changes
    in its file."""
    if not isinstance(value, str):
        raise ValueError(f"not a text; {_WANT}")
    if value.startswith(path_trace.KIND):
        value = path_trace.changes(Path(value.removeprefix(path_trace.KIND)))
    _parsed(value)
    return "; ".join(" ".join(part.split()) for part in value.split(";"))


class PathKeys(Table):
    """[path] without prefixes: first the delay box's parameters, named like its options but with ``_``, then the keys
    that apply to the whole path. 0 means none or no bound; None means the box's own default. Defaults are the options'
    own, except that of framing (a test compares them). ``distance`` (metres of fibre) is another way to say
    ``delay``."""

    delay: Annotated[int, *_amount(quantity.DURATION, "delay")] = row(
        0,
        "propagation delay, one way",
        column="delay_ns",
        label="Delay, one way",
    )
    rate: Annotated[int, *_amount(quantity.RATE, "rate")] = row(
        0,
        "rate of the bottleneck; 0: no bottleneck",
        column="rate_bps",
        label="Rate of the bottleneck",
    )
    queue: Annotated[int, *_amount(quantity.BYTES, "queue")] = row(
        0,
        "bytes that the queue in front of the bottleneck holds; 0: no bound",
        column="queue_bytes",
        label="Queue of the bottleneck",
    )
    loss: Annotated[int | str, *ratio_or_model("loss")] = row(
        0,
        "wire packets lost before the bottleneck, in both directions (`ab_loss`: data only, `ba_loss`: "
        "acknowledgements only). A ratio loses packets independently; models are `gilbert:1%,10`, `4state:…`,"
        " `packets:5,10-12`, `time:1s-2s`, `seq:1000-2000`, `retransmission:1`. Times count from the start of"
        " the box, a moment before the transfer begins. With outages (`time:`, or a `change` to a loss of 100"
        " %) the columns `outages`, `recovery_ns`, `recovery_error_ns` and `recovery_max_ns` say how the "
        'transfer recovered; see "Outages"',
        column="loss_ppb",
        label="Loss before the bottleneck",
        allowed="0% … 100%, or a model",
    )
    access_rate: Annotated[int, *_amount(quantity.RATE, "access_rate")] = row(
        0,
        "rate of a line in front of everything else; 0: no such line",
        column="access_rate_bps",
        label="Rate of the access line",
    )
    jitter: Annotated[str, *model("jitter")] = row(
        "none",
        "delay that varies: `2ms` (uniform), `normal:2ms,25%`, `pareto:2ms`, `table:FILE`, `trace:FILE`, …",
        allowed="a model",
    )
    jitter_order: Annotated[str, *choice("path", "jitter_order")] = row(
        "keep",
        "whether a packet with less jitter overtakes",
        label="Order of packets under jitter",
    )
    rate_trace: Annotated[str, *model("rate-trace")] = row(
        "none",
        "rate over time, instead of `rate`: `rate:0s=10Mbit,5s=1Mbit`, `mahimahi:FILE`, or `mm-link:FILE` for "
        "the same file exactly as mm-link counts (1,504 octets an opportunity, and 4 more for each IP packet)",
        label="Trace of the rate",
        allowed="a model",
    )
    channels: Annotated[int, *count("path", "channels")] = row(
        1,
        "parallel lines at the bottleneck, each with this `rate` and its own `queue`",
        label="Parallel channels",
    )
    balance: Annotated[str, *choice("path", "balance")] = row(
        "flow",
        "whether each flow keeps to one channel, or packets go to the channels in turn and may overtake one another",
        label="Distribution over channels",
    )
    queue_packets: Annotated[int, *count("path", "queue_packets")] = row(
        0,
        "packets that the queue holds; 0: no bound",
        label="Queue of the bottleneck, packets",
    )
    queue_drop: Annotated[str, *choice("path", "queue_drop")] = row(
        "tail",
        "which packet is dropped when the queue is full: the newest or the oldest",
        label="Packet that a full queue drops",
    )
    aqm: Annotated[str, *model("aqm")] = row(
        "none",
        "active queue management: `red`, `codel:target=5ms,interval=100ms,ecn=on`, `pie`, `fq_codel` (a queue"
        " for each flow, marks where packets are ECN-capable; `fq_codel:ways=8,ack_filter=on` are parts of "
        "CAKE), `dualpi2` (a queue for L4S and one for all others, coupled; `dualpi2:ect0=on` takes DCTCP for"
        " L4S), `step:packets=20` (marks from a length of the queue on, as switches in data centres do); or a"
        " policer in front of the queue, `policer:rate=20Mbit,burst=100KB` (a token bucket that drops what is"
        " over the rate, or with `ecn=on` marks it where packets are ECN-capable)",
        label="Queue management",
        allowed="a model",
    )
    only: Annotated[str, *model("only")] = row(
        "all",
        "packets that `loss`, `loss_after`, `duplicate`, `corrupt`, `forge`, `reorder` and `jitter` concern: a "
        "list of terms, separated by commas, that must all hold; `!` in front negates one. Terms are `tcp`, "
        "`udp`, `syn`, `fin`, `rst`, `data`, `ack-only`, `sport=5001`, `dport=5001`, `src=10.0.0.0/8`, `dst=…`, "
        "`min-size=1000`, `max-size=100` (bytes from the link header on). Delay, rate and queue apply to all "
        "packets. Between gateways the packets are the tunnel's",
        label="Packets that impairments affect",
        allowed="a filter",
    )
    loss_after: Annotated[int | str, *ratio_or_model("loss-after")] = row(
        0,
        "wire packets lost behind the bottleneck",
        column="loss_after_ppb",
        label="Loss behind the bottleneck",
        allowed="0% … 100%, or a model",
    )
    duplicate: Annotated[int, *_amount(quantity.RATIO, "duplicate")] = row(
        0,
        "wire packets that arrive twice",
        column="duplicate_ppb",
        label="Duplication",
    )
    corrupt: Annotated[int, *_amount(quantity.RATIO, "corrupt")] = row(
        0,
        "wire packets with a flipped bit that checksums see",
        column="corrupt_ppb",
        label="Corruption that checksums find",
    )
    forge: Annotated[int, *_amount(quantity.RATIO, "forge")] = row(
        0,
        "wire packets with a flipped bit that checksums do not see",
        column="forge_ppb",
        label="Corruption that checksums miss",
    )
    reorder: Annotated[int, *_amount(quantity.RATIO, "reorder")] = row(
        0,
        "wire packets held back by `reorder_by` while others go on",
        column="reorder_ppb",
        label="Reordering",
    )
    reorder_by: Annotated[int, *_amount(quantity.DURATION, "reorder_by")] = row(
        MS,
        "how much later a reordered packet leaves",
        column="reorder_by_ns",
        label="Delay of reordered packets",
    )
    bunch: Annotated[int, *_amount(quantity.DURATION, "bunch")] = row(
        0,
        "packets are held, and all of them leave together once in each interval of this length, as behind a "
        "WAN/LAN PHY conversion; 0: not held",
        column="bunch_ns",
        label="Interval of bunching",
    )
    bunch_packets: Annotated[int, *count("path", "bunch_packets")] = row(
        0,
        "largest number of packets that leave together; 0: no bound",
        label="Largest bunch, packets",
    )
    pace: Annotated[int, *_amount(quantity.RATE, "pace")] = row(
        0,
        "pacing in front of the receiver; 0: none",
        column="pace_bps",
        label="Pacing in front of the receiver",
    )
    pace_packets: Annotated[int, *count("path", "pace_packets")] = row(
        0,
        "pacing in front of the receiver, packets a second; 0: none",
        label="Pacing in front of the receiver, packets a second",
    )
    pace_buffer: Annotated[int, *_amount(quantity.BYTES, "pace_buffer")] = row(
        0,
        "bytes that may wait for the pacer; 0: no bound",
        column="pace_buffer_bytes",
        label="Buffer of the pacer",
    )
    drain_rate: Annotated[int, *_amount(quantity.RATE, "drain_rate")] = row(
        0,
        "the receiver's I/O bus, which takes packets out of its NIC one after the other; 0: as fast as the line",
        column="drain_rate_bps",
        label="Rate of the receiver's bus",
    )
    drain_buffer: Annotated[int, *_amount(quantity.BYTES, "drain_buffer")] = row(
        0,
        "bytes that the receiver's NIC holds for its bus; what does not fit is dropped; 0: no bound",
        column="drain_buffer_bytes",
        label="Buffer of the receiver's interface",
    )
    harmonize: Annotated[int, *_amount(quantity.RATE, "harmonize")] = row(
        0,
        "evens parallel flows out to equal shares of this rate; 0: off",
        column="harmonize_bps",
        label="Rate of the harmonizer",
    )
    distance: Annotated[int, *within(quantity.DISTANCE, 0, _FARTHEST_M)] | None = row(
        None,
        "length of the fibre, instead of `delay`: light takes 1 s for 210,000 km, so `1000km` is 4.762 ms one way",
        column="distance_m",
        once=True,
    )
    mtu: Annotated[int, *whole(1280, 9216)] = row(
        1500,
        "MTU of every interface",
        label="MTU",
        once=True,
    )
    framing: Annotated[str, *choice("path", "framing")] = row(
        "ip",
        "which bytes of a packet count in a rate",
        once=True,
    )
    routers: Annotated[int, *whole(2, 16)] = row(
        2,
        "routers in the chain",
        once=True,
    )
    nic_rate: Annotated[int, *within(quantity.RATE, 0, _FASTEST_BPS)] = row(
        0,
        "rate of the sender's network interface, whose transmit queue is part of the host: a packet that does "
        "not fit is not lost, but TCP takes the refusal for congestion. The sender then has no segmentation "
        "offload and no small-queue limit, as in Linux before 3.6. 0: no such limit. Needs a kernel with "
        "`sch_netem`, which virtual time has",
        column="nic_rate_bps",
        label="Rate of the sender's interface",
        once=True,
    )
    nic_queue: Annotated[int, *whole(1, 100_000)] = row(
        100,
        "packets that this transmit queue holds",
        column="nic_queue_packets",
        label="Transmit queue of the sender",
        once=True,
    )
    change: Annotated[str, BeforeValidator(_normal)] = row(
        "none",
        "how the path changes while it is in use: `8s delay=150ms loss=1%; 16s delay=100ms`. Every key of a "
        "direction may change (`aqm=codel`, `reorder=1%`, …; a key may have `ab_` or `ba_` in front), and `mtu`, "
        "the MTU of the line between the routers, which is at most the path's. `trace:FILE` takes the changes "
        'from a CSV file; see "Paths that change". Times count from the start of the box, as in `loss`. '
        "A packet keeps the delay at its arrival, and none overtakes another. So if the delay becomes shorter by "
        "D, the packets that arrive within D after the change are held back and leave together. Only the delay "
        "box has this key; netem does not, because its packets would overtake each other",
        label="Change of the path",
        allowed="`TIME KEY=VALUE …; …`, `trace:FILE`",
        once=True,
    )
    poll: Annotated[int, *_amount(quantity.DURATION, "poll")] | None = row(
        None,
        "how often the box looks at its ports under load: accuracy against CPU time",
        column="poll_ns",
        default="the box's own",
        once=True,
        given=True,
    )
    spin: Annotated[int, *_amount(quantity.DURATION, "spin")] | None = row(
        None,
        "how long before a departure the box watches the clock: accuracy against CPU time",
        column="spin_ns",
        default="the box's own",
        once=True,
        given=True,
    )
    granularity: Annotated[int, *_amount(quantity.DURATION, "granularity")] | None = row(
        None,
        "wire packets of one super-packet that are due within this time leave together",
        column="granularity_ns",
        default="the box's own",
        once=True,
        given=True,
    )
    memory: Annotated[int, *_amount(quantity.BYTES, "memory")] | None = row(
        None,
        "bound on the packets that the box holds, a direction",
        column="memory_bytes",
        default="the box's own",
        once=True,
        given=True,
    )
    seed: Annotated[int, *whole(0, 2**53)] | None = row(
        None,
        "seed of the box's randomness, and in virtual time of the kernel's and all programs', the same in every trial",
        column=None,
        default="from the run's",
        allowed="0 … 2^53",
        once=True,
    )

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
        found = [_change(at_ns, values) for at_ns, values in _parsed(self.change)]
        if large := next((one.mtu for one in found if one.mtu and one.mtu > self.mtu), None):
            raise ValueError(f"mtu: {large} is more than path.mtu, which is {self.mtu}; set path.mtu = {large}")
        return found

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
        phases = [self.direction(which)]
        for change in self.changes():
            values = change.ab if which == "ab" else change.ba
            phases.append(Direction({**phases[-1].values, **values}))
        return phases

    def rtt_ns(self) -> int:
        """Round-trip time of the empty path: without queueing and jitter."""
        return self.direction("ab").delay_ns + self.direction("ba").delay_ns


_COLUMNS = {key: own.column or key for key, own in rows(PathKeys)}
ONCE = tuple(key for key, own in rows(PathKeys) if own.once)  # these parameters do not change while the path is in use
DIRECTION_KEYS = tuple(key for key in PathKeys.model_fields if key not in ONCE)
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


class OwnPath(PathTable):
    """[pair.N.path]: what a host pair has between its sender, or its own near gateway, and the first router: a delay
    box of its own in front of [path]'s."""

    REFUSED: ClassVar[frozenset[str]] = frozenset(ONCE) - {"distance"}

    @model_validator(mode="after")
    def _of_a_pair(self) -> OwnPath:
        if once := sorted(self.model_fields_set & self.REFUSED):
            raise ValueError(f"'{once[0]}': [path] has it for the whole network; set it there, or leave it out")
        return self

    def text(self) -> str:
        """The keys that are set, as the results have them in one column: ``delay=60ms loss=1%``."""
        said = self.model_dump(mode="json", include=self.model_fields_set)
        return " ".join(f"{key}={model_files.column(value)}" for key, value in said.items())


@dataclass(frozen=True)
class Change:
    """Parameters of both directions from ``at_ns`` of the box's clock on: keys of [path] without prefix → values.
    ``mtu``: the MTU of the line between the routers from then on; None: unchanged."""

    at_ns: int
    ab: Mapping[str, int | str]
    ba: Mapping[str, int | str]
    mtu: int | None = None


def _change(at_ns: int, values: Mapping[str, str]) -> Change:
    """A change with its values in base units. ValueError, with the key, when a key is unknown or its value is not
    allowed."""
    try:
        path = PathTable.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{first['loc'][0]}: {first['msg'].removeprefix('Value error, ')}") from None

    def of(which: Literal["ab", "ba"]) -> dict[str, int | str]:
        direction = path.direction(which).values
        keys = [key.removeprefix(f"{which}_") for key in values if key.removeprefix(f"{which}_") in DIRECTION_KEYS]
        return {key: direction[key] for key in keys}

    return Change(at_ns, of("ab"), of("ba"), path.mtu if "mtu" in values else None)
