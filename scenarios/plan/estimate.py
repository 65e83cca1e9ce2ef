"""How long trials take: an estimate from rates and sizes, which is corrected by the trials that are done."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from netcommon import quantity
from netcommon.readable import spoken as spoken  # others take it from here
from scenarios.plan import flows
from scenarios.plan.model import Scenario
from scenarios.plan.path import Direction
from scenarios.plan.transfer import Transfer

_OVERHEAD_S = 0.4  # starting box and tools, writing the profile
_CAPTURE_S = 1.5  # opening captures and analysing them
_FASTEST_BPS = 10**10
_RTO_S = 1.0  # the least time-out of the profiles' oldest TCP
_HEADERS = 72  # headers of IPv6 and TCP with time stamps
_HOSTS_S = 20e-6  # hosts' time for an exchange, without the path


def trial_s(setting: Scenario) -> float:
    """Expected wall time of one trial without loss in real time, seconds."""
    return _OVERHEAD_S + (_CAPTURE_S if setting.capture.points else 0) + transfer_s(setting)


def transfer_s(setting: Scenario) -> float:
    """Expected duration of all transfers without loss, seconds: until the last flow has ended. Flows with an amount
    share the line."""
    known = flows.of(setting)
    if len(known) == 1:
        return _alone_s(setting)
    amounts = sum(one.setting.transfer.bytes or 0 for one in known)
    shared_s = amounts * 8 / _rate_bps(_common(setting))
    return max(shared_s, *(one.start_ns / 1e9 + _alone_s(one.setting) for one in known))


def _without_window(setting: Scenario) -> Transfer:
    return setting.transfer.model_copy(update={"window": None})


def _common(setting: Scenario) -> Scenario:
    """The setting with the path that all flows share, and no window."""
    return setting.model_copy(update={"transfer": _without_window(setting), "pair": {}})


def _alone_s(setting: Scenario) -> float:
    if setting.transfer.duration is not None:
        return (setting.transfer.duration + setting.transfer.omit) / 1e9
    if setting.transfer.exchanges is not None:
        return setting.transfer.exchanges * _exchange_s(setting) / setting.transfer.parallel
    return (setting.transfer.bytes or 0) * 8 / _rate_bps(setting)


def moved_bytes(setting: Scenario) -> float:
    """Expected amount of data without loss, of all flows. Together they move no more than the line carries."""
    known = flows.of(setting)
    if len(known) > 1:
        line = _rate_bps(_common(setting)) * transfer_s(setting) / 8
        return min(sum(moved_bytes(one.setting) for one in known), len(flows.pairs(setting)) * line)
    if setting.transfer.bytes is not None:
        return _ways(setting) * setting.transfer.bytes
    if setting.transfer.request is not None:
        return setting.transfer.parallel * transfer_s(setting) / _exchange_s(setting) * _exchange_bytes(setting)
    return _ways(setting) * transfer_s(setting) * _rate_bps(setting) / 8


def _ways(setting: Scenario) -> int:
    return 2 if setting.transfer.bidir else 1


def longest_s(setting: Scenario) -> float:
    """Expected duration of all transfers when the path loses packets and a Reno-like TCP reduces its window at each
    loss: at least `transfer_s`."""
    return max(transfer_s(setting), *(_given_way_s(one.setting) for one in flows.of(setting)))


def _given_way_s(setting: Scenario) -> float:
    """How long a flow's bytes take at the rate that random loss allows (Padhye, Firoiu, Towsley, Kurose 1998), with the
    worst parameters that the path gets; 0 for flows without an amount, and without random loss."""
    transfer = setting.transfer
    ways = (0, 1) if _ways(setting) == 2 or transfer.request is not None else (0,)
    share = rtt_s = 0.0
    for path in flows.paths(setting):
        phases = list(zip(path.phases("ab"), path.phases("ba"), strict=True))
        share += max(_lost(pair[way]) for pair in phases for way in ways)
        rtt_s += max(forth.delay_ns + back.delay_ns for forth, back in phases) / 1e9
    amount = transfer.bytes or (transfer.exchanges or 0) * _exchange_bytes(setting)
    if not 0 < share < 1 or not amount:
        return 0.0
    waits_s = rtt_s * math.sqrt(2 * share / 3)
    waits_s += _RTO_S * min(1.0, 3 * math.sqrt(3 * share / 8)) * share * (1 + 32 * share**2)
    return amount / transfer.parallel / (setting.path.mtu - _HEADERS) * waits_s


def _lost(line: Direction) -> float:
    """The share of packets lost at random in a direction: a plain ratio, or the mean of `gilbert`."""
    return sum(_share(line.values[key]) for key in ("loss", "loss_after"))


def _share(loss: int | str) -> float:
    if isinstance(loss, int):
        return loss / quantity.RATIO_ONE_PPB
    kind, _, rest = loss.partition(":")
    return quantity.parse(quantity.RATIO, rest.partition(",")[0]) / quantity.RATIO_ONE_PPB if kind == "gilbert" else 0.0


def _exchange_bytes(setting: Scenario) -> int:
    return (setting.transfer.request or 0) + (setting.transfer.response or 0)


def _exchange_s(setting: Scenario) -> float:
    """One request and its response on one stream: the round trip, the time on the line, and the hosts' share."""
    line_s = _exchange_bytes(setting) * 8 / _rate_bps(setting)
    return flows.rtt_ns(setting, 1) / 1e9 + line_s + _HOSTS_S


def _rate_bps(setting: Scenario) -> float:
    """The rate that lines, window and gateways allow the setting's only pair."""
    rtt_s, lines = flows.rtt_ns(setting, 1) / 1e9, [path.direction("ab") for path in flows.paths(setting)]
    limits = (
        *(_line_bps(setting, line) for line in lines),
        *(line.access_rate_bps for line in lines),
        setting.path.nic_rate,
        setting.gateway.rate,
        setting.gateway.host_rate,
        _FASTEST_BPS,
    )
    rates = [float(rate) for rate in limits if rate]
    if setting.transfer.window and rtt_s:
        rates.append(setting.transfer.parallel * setting.transfer.window * 8 / rtt_s)
    return min(rates)


def _line_bps(setting: Scenario, line: Direction) -> float:
    """The bottleneck's rate; for a trace, its mean over the time that the transfer takes."""
    trace = line.trace
    if not trace:
        return line.all_channels_bps
    channels, transfer = int(line.values["channels"]), setting.transfer
    if transfer.duration is not None:
        seconds = (transfer.duration + transfer.omit) / 1e9
        return channels * trace.bits_in(seconds) / seconds
    bits = (transfer.bytes or 0) * 8 / channels
    return channels * bits / trace.seconds_for(bits) if bits else line.all_channels_bps


def held_bytes(setting: Scenario, way: Literal["ab", "ba"]) -> int:
    """The most that the delay box holds in one direction, by the box's own rule: rate × delay and the queue, on every
    channel, at the path's beginning or after a change. Jitter does not count. 0: the path sets no rate, so the box
    cannot plan its memory."""
    return max(_held_bytes(line) for line in setting.path.phases(way))


def _held_bytes(line: Direction) -> int:
    queue = int(line.values["channels"]) * int(line.values["queue"])
    return line.all_channels_bps * line.delay_ns // (8 * 10**9) + queue if line.all_channels_bps else 0


def in_flight_bytes(setting: Scenario, most_window: int) -> int:
    """The least memory that a trial takes when its senders fill the path: a sender keeps what is in flight until it is
    acknowledged. ``most_window``: the largest window of a stream whose window the scenario does not set, in bytes. 0 on
    a path without a rate."""
    most_bytes = 0
    for way in ("ab", "ba") if setting.transfer.bidir else ("ab",):
        line = setting.path.direction(way)
        rate_bps = min((rate for rate in (line.all_channels_bps, line.access_rate_bps) if rate), default=0)
        windows = (setting.transfer.window or most_window) * setting.transfer.parallel
        path = rate_bps * setting.path.rtt_ns() // (8 * 10**9)
        most_bytes += min(path, windows, setting.transfer.bytes or path)
    return most_bytes


class TimeLeft:
    """Remaining time of a list of trials. The ratio of taken to expected time so far scales the time that is left."""

    def __init__(self, expected_s: Iterable[float]) -> None:
        self._left_s = sum(expected_s)
        self._expected_s = self._taken_s = 0.0

    def done(self, expected_s: float, taken_s: float) -> None:
        """Notes that a trial that was expected to take ``expected_s`` has ended after ``taken_s``."""
        self._left_s = max(self._left_s - expected_s, 0.0)
        self._expected_s += expected_s
        self._taken_s += taken_s

    def seconds(self, under_way: Sequence[tuple[float, float]] = (), at_a_time: int = 1) -> float:
        """The time left. ``under_way``: for each running trial the time that it was expected to take and the wall time
        that it still takes; ``at_a_time`` of them run side by side."""
        waiting_s = self.corrected(max(self._left_s - sum(expected_s for expected_s, _ in under_way), 0.0))
        still = [left_s for _, left_s in under_way]
        return max(waiting_s + sum(still) / at_a_time, max(still, default=0.0))

    def corrected(self, expected_s: float) -> float:
        """Corrects an expected time by the times that finished trials took."""
        return expected_s * (self._taken_s / self._expected_s if self._expected_s else 1.0)
