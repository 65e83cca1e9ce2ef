"""Refuses, before anything starts, scenarios whose values are all valid but which cannot be measured.

Only what a person has written is checked, not a plan that is made again from its manifest: that run has begun, perhaps
on another machine. Rejected: letting the trial fail. By then a network has been built, and the error names a tool's
option instead of the scenario's key.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from netcommon import quantity
from netcommon.errors import MissingError, UsageError
from scenarios.plan import congestion, estimate, flows, gateway_commands, keys
from scenarios.plan.document import LIBRARY, Document, Key
from scenarios.plan.gateway import ANY, Gateway
from scenarios.plan.messages import shown, suggest
from scenarios.plan.model import Scenario
from scenarios.plan.path import PathTable
from scenarios.plan.tool_options import source_of

REFERENCES = LIBRARY.parent / "reference"
_MEMINFO = Path("/proc/meminfo")


def check(document: Document, setting: Scenario) -> None:
    """UsageError for a setting of this document that cannot be measured, with file and line; MissingError where this
    machine has too little memory."""
    for key in ("congestion", "second"):
        name = getattr(setting.transfer, key)
        if name and (wrong := congestion.wrong(name)):
            raise _error(document, setting, ("transfer", key), wrong)
    for flow, own in setting.flow.items():
        if own.congestion and (wrong := congestion.wrong(own.congestion)):
            raise _error(document, setting, ("flow", flow, "congestion"), wrong)
    for key in ("near", "far"):
        if wrong := gateway_commands.wrong(getattr(setting.gateway, key)):
            raise _error(document, setting, ("gateway", key), wrong)
        for number, pair in setting.pair.items():
            if pair.gateway and (wrong := gateway_commands.wrong(getattr(pair.gateway, key))):
                raise _error(document, setting, ("pair", number, "gateway", key), wrong)
    _check_gateway(document)
    _check_cpu(document, setting)
    _check_events(document, setting)
    _check_time(document, setting)
    _check_memory(document, setting)
    for name in setting.report.reference:
        known = sorted(path.stem for path in REFERENCES.glob("*.csv"))
        if name not in known:
            raise UsageError(
                f"{document.origin(('report', 'reference'))}: report.reference = '{name}': unknown"
                f"{suggest(name, known)} allowed: {', '.join(known)}"
            )


def _error(document: Document, setting: Scenario, key: Key, why: str) -> UsageError:
    return UsageError(f"{_place(document, setting, key)}: {why}")


def _place(document: Document, setting: Scenario, key: Key) -> str:
    """``file:line: table.key = value`` of a setting's value, whether it is swept, in a case, or the same in all
    trials."""
    dotted, values = ".".join(key), document.values
    of_case: Key = ("case", setting.scenario.case or "", *key)
    if dotted in values.get("sweep", {}):
        where = document.origin(("sweep", dotted))
    else:
        where = document.origin(of_case if of_case in document.origins else key)
    value: Any = setting.model_dump(mode="json", include={key[0]})
    for part in key:
        value = value[part]
    return f"{where}: {dotted} = {shown(value)}"


def _check_gateway(document: Document) -> None:
    """UsageError for a setting of gateways in a document without gateways. Where another layer has removed the gateways
    (``--set gateway.kind=none``), the scenario's settings of gateways are ignored."""
    said = document.values.get("gateway", {})
    swept = {
        dotted.partition(".")[2]: values
        for dotted, values in document.values.get("sweep", {}).items()
        if dotted.startswith("gateway.")
    }
    kinds = _kinds(document, said, swept)
    layer = _layer(document.origin(("gateway", "kind"))) if "kind" in said else None
    for key, own in keys.rows(Gateway):
        value = swept.get(key, said.get(key))
        if value in (None, Gateway.model_fields[key].default) or not own.kinds or kinds.intersection(own.kinds):
            continue
        where = document.origin(("sweep", f"gateway.{key}") if key in swept else ("gateway", key))
        if layer in (None, _layer(where)):
            kind = own.kinds[0]
            raise UsageError(
                f"{where}: gateway.{key} = {shown(value)}: no trial has a gateway that takes it; set "
                f'gateway.kind = "{kind}", or leave gateway.{key} out'
            )


def _check_cpu(document: Document, setting: Scenario) -> None:
    """UsageError for costs of gateways' system calls in a document without gateways."""
    if not setting.cpu.has_price or setting.cpu.of != "gateways":
        return
    swept = document.values.get("sweep", {}).get("gateway.kind", ())
    kinds = _kinds(document, document.values.get("gateway", {}), {"kind": swept})
    if not kinds.intersection(ANY) and not any(pair.gateway for pair in setting.pair.values()):
        key = "call" if setting.cpu.call else "rate"
        raise _error(
            document,
            setting,
            ("cpu", key),
            'no trial has gateways, whose system calls would cost it; set cpu.of = "hosts", or leave [cpu] out',
        )


def _check_events(document: Document, setting: Scenario) -> None:
    """UsageError for events at gateways in a document without gateways. A trial without gateways ignores events."""
    swept = document.values.get("sweep", {}).get("gateway.kind", ())
    kinds = _kinds(document, document.values.get("gateway", {}), {"kind": swept})
    if setting.event and not kinds.intersection(ANY) and not any(pair.gateway for pair in setting.pair.values()):
        raise UsageError(
            f"{document.origin(('event', '0'))}: [[event]]: no trial has gateways, to which it could happen; set "
            'gateway.kind = "lft", or leave it out'
        )


def _kinds(document: Document, said: dict[str, Any], swept: dict[str, list[Any]]) -> set[Any]:
    """All kinds of gateways that the document uses, in any case."""
    cases = document.values.get("case", {}).values()
    of_cases = (case["gateway"].get("kind") for case in cases if "gateway" in case)
    return {said.get("kind"), *swept.get("kind", ()), *of_cases}


def _layer(where: str) -> str:
    return where if where.startswith("--set") else where.rpartition(":")[0]


def _check_time(document: Document, setting: Scenario) -> None:
    limit_ns, takes_s = setting.run.timeout, estimate.transfer_s(setting)
    if limit_ns is not None and takes_s * 1e9 > limit_ns:
        takes = quantity.format_duration(round(takes_s * 1000) * 10**6)
        raise _error(
            document,
            setting,
            ("run", "timeout"),
            f"the transfer takes {takes} without any loss; allow more "
            "time, leave run.timeout out, or send for a shorter time",
        )


def _check_memory(document: Document, setting: Scenario) -> None:
    for way in _WAYS:
        _check_box(document, setting, way)
        for pair, own in flows.own_paths(setting).items():
            _check_own(document, setting, pair, own, way)
    window = source_of("transfer", "window").option()
    needs = estimate.in_flight_bytes(setting, (window and window.maximum) or 2**30)
    if needs > (has := machine_bytes()):
        where = _place(document, setting, ("transfer", "window" if setting.transfer.window else "parallel"))
        raise MissingError(
            f"{where}: {_size(needs)} are in flight on this path, and this machine has {_size(has)} of "
            "memory; lower transfer.window, transfer.parallel, path.rate or path.delay"
        )


_WAYS: tuple[Literal["ab"], Literal["ba"]] = ("ab", "ba")


def _check_box(document: Document, setting: Scenario, way: Literal["ab", "ba"]) -> None:
    """UsageError where a direction of the path holds more than the box's memory. The box refuses that, too."""
    limit, holds, memory_bytes = _box_limit(setting), estimate.held_bytes(setting, way), setting.path.memory
    if holds <= limit:
        return
    line = setting.path.direction(way)
    on = (
        f"path.delay {quantity.format_duration(line.delay_ns)}, path.rate {quantity.format_rate(line.rate_bps)} and "
        f"path.queue {quantity.format_bytes(int(line.values['queue']))}"
    )
    remedy = f'set path.memory = "{_size(holds)}", or lower one of them'
    allowed = f"path.memory, which is {_size(limit)} unless it is set"
    if holds > (has := machine_bytes()):
        remedy, allowed = "lower one of them", f"this machine's memory, which is {_size(has)}"
    if memory_bytes is not None and holds <= has:
        raise _error(document, setting, ("path", "memory"), f"the delay box holds {_size(holds)} with {on}; {remedy}")
    queues = int(line.values["channels"]) * int(line.values["queue"])
    key = "queue" if 2 * queues >= holds else "rate"
    directed = f"{way}_{key}" if getattr(setting.path, f"{way}_{key}") is not None else key
    raise _error(
        document,
        setting,
        ("path", directed),
        f"the delay box holds {_size(holds)} with {on}, more than {allowed}; {remedy}",
    )


def _check_own(document: Document, setting: Scenario, pair: int, own: PathTable, way: Literal["ab", "ba"]) -> None:
    """UsageError where a direction of a pair's own path holds more than the box's memory."""
    holds = estimate.held_bytes(setting.model_copy(update={"path": own}), way)
    if holds > (limit := _box_limit(setting)):
        key = "rate" if own.rate else f"{way}_rate"
        why = f"the delay box of pair {pair} holds {_size(holds)}, more than path.memory, which is {_size(limit)}"
        raise _error(document, setting, ("pair", str(pair), "path", key), f"{why}; lower rate, delay or queue")


def _box_limit(setting: Scenario) -> int:
    """The memory of a delay box for a direction, bytes: path.memory, or the box's own."""
    if setting.path.memory is not None:
        return setting.path.memory
    option = source_of("path", "memory").option()
    return int(option.default or 0) if option else sys.maxsize


def machine_bytes() -> int:
    """The memory of this machine."""
    fields = dict(line.split(":") for line in _MEMINFO.read_text(encoding="ascii").splitlines())
    return int(fields["MemTotal"].split()[0]) * 1024


def _size(number: int) -> str:
    """A size in whole MB, or in GB where that is above ten; rounded up."""
    unit, factor = ("GB", 2**30) if number > 10 * 2**30 else ("MB", 2**20)
    return f"{-(-number // factor)}{unit}"
