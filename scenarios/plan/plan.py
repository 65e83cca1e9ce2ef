"""From a scenario file to the list of its trials: layers, sweep (cross product), repeats, order, seeds.

A trial's number is its position in listed order, whatever the order of running. So the names of trials are stable, and
``--resume`` finds the missing ones.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import secrets
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from netcommon.errors import UsageError
from scenarios.plan import bdp, feasible, flows, messages, model_files, profiles, report_axes, sweeps
from scenarios.plan.document import CLAIMS, Document, Key, load_layers, with_quick
from scenarios.plan.model import NAMED, Report, Scenario, is_all


@dataclass(frozen=True)
class Trial:
    """One measurement to make. ``number`` from 0 in listed order; ``seed`` is the delay box's."""

    number: int
    repeat: int
    seed: int
    setting: Scenario


@dataclass(frozen=True)
class Plan:
    """A resolved scenario. ``base`` holds the unswept values of the first setting. ``echo`` is the manifest's copy of
    the scenario. ``notes``: what the user should know before the plan runs."""

    name: str
    base: Scenario
    sweep: dict[str, list[Any]]
    trials: tuple[Trial, ...]
    seed: int
    echo: dict[str, Any]
    notes: tuple[str, ...] = ()

    def in_order(self) -> list[Trial]:
        """The trials in the order in which they will run."""
        trials = list(self.trials)
        if self.base.run.order == "random":
            random.Random(self.seed).shuffle(trials)
        return trials


def load_plan(name: str, *, quick: bool = False, overrides: Sequence[str] = (), seed: int | None = None) -> Plan:
    """Reads, merges and validates ``name`` (library name or path). UsageError with file and line when it is wrong."""
    return plan_of(load_layers(name), quick=quick, overrides=overrides, seed=seed)


def plan_of(document: Document, *, quick: bool = False, overrides: Sequence[str] = (), seed: int | None = None) -> Plan:
    """The plan of a scenario that is read. UsageError, with file and line where it has them, when it is wrong."""
    sweeps.check_names(document)
    document = with_quick(document) if quick else document
    changed = _overridden(document, overrides)
    notes = []
    if _path(changed) != _path(document):
        if any(_said(changed, key) for key in CLAIMS):
            notes.append(
                "--set changes the path, so the scenario's own title, description, paper row, points, "
                "regions and expectations are left out"
            )
        changed = _overridden(document.without_claims(), overrides)
    changed = Document(changed.name, model_files.beside(changed.values, Path.cwd()), changed.origins)
    plan = make_plan(changed.without_table("quick"), seed, notes)
    for trial in plan.trials[: len(plan.trials) // plan.base.run.repeat]:
        feasible.check(changed, trial.setting)
    return plan


def _overridden(document: Document, overrides: Sequence[str]) -> Document:
    for text in overrides:
        document = _override(document, text)
    return document


def _path(document: Document) -> tuple[Any, ...]:
    """All settings of a document's path and of pairs' own paths, including swept values."""
    sweep = document.values.get("sweep")
    swept = sweep.items() if isinstance(sweep, dict) else ()
    of_paths = {dotted: values for dotted, values in swept if dotted.startswith("path.") or ".path." in dotted}
    return document.values.get("path"), document.paths_of_pairs(), of_paths


def _said(document: Document, key: Key) -> bool:
    value: Any = document.values
    for part in key:
        value = value.get(part) if isinstance(value, dict) else None
    return bool(value)


def make_plan(document: Document, seed: int | None = None, notes: Sequence[str] = ()) -> Plan:
    """The plan of a merged document. ``notes``: what the user should know before it runs."""
    sweep = sweeps.of(document)
    plain = document.without_table("sweep")
    points = [_with_point(plain, sweep, point) for point in itertools.product(*sweep.values())]
    settings = [_validate(sweeps.with_case(point)) for point in points]
    base = _validate(points[0].without_table("case"), like=settings[0])
    base = base.model_copy(update={"report": report_axes.resolved(document, base.report, settings)})
    chosen = base.run.seed if base.run.seed is not None else seed
    chosen = secrets.randbelow(2**32) if chosen is None else chosen
    base, *settings = [_of_run(one, chosen, base.report) for one in (base, *settings)]
    trials = tuple(
        Trial(number, repeat, _trial_seed(chosen, number), setting)
        for number, (repeat, setting) in enumerate(itertools.product(range(base.run.repeat), settings))
    )
    echo = _echo(base, points[0], sweep)
    cases = {"case": document.values["case"]} if "case" in document.values else {}
    return Plan(base.scenario.name, base, sweep, trials, chosen, echo | cases | {"sweep": sweep}, tuple(notes))


def _of_run(setting: Scenario, seed: int, report: Report) -> Scenario:
    """The setting with the run's seed and report, as the manifest has them: it gives the same plan again."""
    return setting.model_copy(update={"run": setting.run.model_copy(update={"seed": seed}), "report": report})


def _echo(base: Scenario, point: Document, sweep: dict[str, list[Any]]) -> dict[str, Any]:
    """The scenario for the manifest, without swept values. ``point``: the sweep's first."""
    echo = base.model_dump(mode="json", by_alias=True, exclude_none=True)
    for table, key in bdp.multiples(point.values):  # kept as a multiple: each setting has its own size in bytes
        echo[table][key] = point.values[table][key]
    if is_all(point.values.get("capture", {}).get("points")):  # kept: a case may have gateways that others lack
        echo["capture"]["points"] = "all"
    for named in NAMED:  # as written, because the values that they inherit may be swept in other tables
        echo[named] = point.values.get(named, {})
    left = Document(base.scenario.name, echo)
    for dotted in sweep:
        left = left.without(tuple(dotted.split(".")))
    return {name: table for name, table in left.values.items() if table or name not in NAMED}


def _trial_seed(seed: int, number: int) -> int:
    """The seed of one trial, derived from the run's seed: 32 bits of BLAKE2b."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{number}".encode(), digest_size=4).digest())


def _override(document: Document, text: str) -> Document:
    """Applies ``--set path.delay=4ms``. A list (``transfer.window=8KB,16KB``) sweeps the key; a single value ends its
    sweep."""
    dotted, equals, value = text.partition("=")
    key = tuple(dotted.strip().split("."))
    if not equals or len(key) < 2 or (len(key) > 2 and key[0] not in NAMED):
        raise UsageError(f"--set {text}: want TABLE.KEY=VALUE, for example path.delay=4.2ms")
    origin = f"--set {text}"
    values = _values(value, origin)
    plain = document.with_value(key, values[0], origin)
    return plain if len(values) == 1 else plain.with_value(("sweep", dotted), values, origin)


def _values(text: str, origin: str) -> list[Any]:
    """Values between commas. A text that begins with a quotation mark or a bracket is a TOML value, so that it may
    contain commas."""
    if not text.lstrip().startswith(('"', "'", "[")):
        return [_plain(part.strip()) for part in text.split(",")]
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin}: not a TOML value: {error}") from None
    return value if isinstance(value, list) and value else [value]


def _plain(text: str) -> Any:
    """Converts TOML's booleans and integers. Anything else stays a text, as quantities are."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.lstrip("-").isdigit() else text


def _with_point(plain: Document, sweep: dict[str, list[Any]], point: tuple[Any, ...]) -> Document:
    for dotted, value in zip(sweep, point, strict=True):
        plain = plain.with_value(tuple(dotted.split(".")), value, plain.origin(("sweep", dotted)))
    return plain


def _validate(document: Document, like: Scenario | None = None) -> Scenario:
    setting = _validated(document, like)
    for named, why in flows.wrong(setting):
        said = _said_at(document, named)
        raise UsageError(f"{document.origin(named)}: {'.'.join(named)}{said}: {why}")
    if point := setting.missing_point():
        found = f"kind '{setting.gateway.kind}', model '{setting.gateway.model}'"
        where = document.origin(("capture", "points"))
        raise UsageError(
            f"{where}: capture.points = '{point}': no such node exists with [gateway] {found}; "
            'want snd, box or rcv, or "all"'
        )
    try:
        profiles.load(setting.profile.name)
    except UsageError as unknown:
        raise UsageError(f"{document.origin(('profile', 'name'))}: {unknown}") from None
    return setting


def _said_at(document: Document, key: Key) -> str:
    """`` = 'value'`` of a key, as written; empty for a table or a default."""
    value: Any = document.values
    for part in key:
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None or isinstance(value, dict) else f" = {messages.shown(value)}"


def _validated(document: Document, like: Scenario | None) -> Scenario:
    """The values as the model takes them. Sizes in BDP and rates in lines are computed from the other values, which are
    validated first. With ``like`` they are computed from that setting: rate and delay may be in a case, which
    ``document`` lacks."""
    multiples = bdp.multiples(document.values)

    def validated(sizes: Mapping[tuple[str, str], int]) -> Scenario:
        return Scenario.model_validate(flows.spelled_out(bdp.with_sizes(document.values, sizes)))

    try:
        setting = validated(bdp.any_amounts(multiples))
        if not multiples:
            return setting
        sizes = {
            (table, key): getattr(getattr(like, table), key)
            if like
            else _amount_of(document, (table, key), size, setting)
            for (table, key), size in multiples.items()
        }
        return validated(sizes)
    except ValidationError as error:
        raise UsageError(messages.one_line(document, error)) from None


def _amount_of(document: Document, key: Key, multiple: Decimal, setting: Scenario) -> int:
    try:
        return bdp.amount((key[0], key[1]), multiple, setting.path)
    except ValueError as error:
        said = document.values[key[0]][key[1]]
        raise UsageError(f"{document.origin(key)}: {'.'.join(key)} = {said!r}: {error}") from None
