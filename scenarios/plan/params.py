"""params.json: a trial's resolved parameters as one flat object, units in the names."""

from __future__ import annotations

from netcommon import run_format
from scenarios.plan import events, flows, keys, model_files, profiles
from scenarios.plan.flows import One
from scenarios.plan.gateway import Gateway
from scenarios.plan.model import Scenario
from scenarios.plan.path import ONCE, PathTable
from scenarios.plan.plan import Trial

Scalar = str | int | float | bool | None


def of(trial: Trial) -> dict[str, Scalar]:
    """Parameters under the contract's names. Plain names are from sender to receiver; ``ba_`` is the reverse
    direction."""
    setting = trial.setting
    transfer, path = setting.transfer, setting.path
    profile = profiles.of(setting.profile)
    main = flows.of(setting)[0]
    ab, ba = path.direction("ab"), path.direction("ba")
    return {
        "v": run_format.VERSION,
        "trial": trial.number,
        "case": setting.scenario.case,
        "repeat": trial.repeat,
        "seed": trial.seed if path.seed is None else path.seed,
        "profile": setting.profile.name,
        "sysctl": setting.profile.sysctl,
        **keys.columns(transfer),
        "window_bytes": transfer.window or (profile.window_bytes if transfer.request is None else 0),
        "length_bytes": transfer.write_bytes,
        "congestion": transfer.congestion or profile.congestion,
        "zerocopy": bool(transfer.zerocopy),
        **_flow_columns(main, setting),
        "topology": setting.topology.kind,
        "hops": setting.topology.hops,
        **ab.columns(),
        **{f"ba_{name}": value for name, value in ba.columns().items()},
        "rtt_ns": flows.rtt_ns(setting, main.pair),
        **_path_columns(path),
        **gateway_columns(main.setting.gateway),
        "cpu_of": setting.cpu.of if setting.cpu.has_price else None,
        "cpu_call_ns": setting.cpu.call,
        "cpu_rate_bps": setting.cpu.rate or None,
        "capture": ",".join(setting.capture.points),
        "snap_bytes": setting.capture.snap_bytes,
    }


def _path_columns(path: PathTable) -> dict[str, Scalar]:
    """The parameters that a path has once, for both directions."""
    return keys.columns(path, ONCE) | {
        "nic_queue_packets": path.nic_queue if path.nic_rate else None,
        "change": model_files.column_of_change(path.change),
    }


def of_flow(trial: Trial, flow: One) -> dict[str, Scalar]:
    """The parameters in which a flow differs from [transfer]'s: those of its own transfer, pair and gateways."""
    alone = of(Trial(trial.number, trial.repeat, trial.seed, flow.setting))
    own: dict[str, Scalar] = _flow_columns(flow, trial.setting)
    own |= {"rtt_ns": flows.rtt_ns(trial.setting, flow.pair)}
    asked = of(trial)
    return own | {name: value for name, value in alone.items() if value != asked[name] and name not in own | _ONCE}


def rows(trial: Trial) -> list[dict[str, Scalar]]:
    """The parameters of each of a trial's flows, [transfer]'s first, with the flow's number."""
    first, *others = flows.of(trial.setting)
    asked = {**of(trial), "flow": first.number}
    return [asked, *({**asked, "flow": one.number, **of_flow(trial, one)} for one in others)]


_ONCE = {"topology": "", "hops": ""}  # columns that say how the pairs are joined


def _flow_columns(flow: One, setting: Scenario) -> dict[str, Scalar]:
    """Columns that say which flow this is, and which other flows there are."""
    default = profiles.of(setting.profile).congestion
    return {
        "flow_name": flow.name,
        "pair": flow.pair,
        "start_ns": flow.start_ns,
        "beside": flows.beside(setting, flow.number, default),
        "pair_path": flows.path_text(setting, flow.pair),
        "events": events.text(setting.event if flows.meets_events(setting, flow.pair) else ()),
    }


def gateway_columns(gateway: Gateway) -> dict[str, Scalar]:
    """The gateways' kind, and the settings that this kind uses; other settings are null."""
    heeded = {keys.column_of(key, own) for key, own in keys.rows(Gateway) if gateway.kind in own.kinds}
    columns = {name: value if name in heeded else None for name, value in keys.columns(gateway).items()}
    return columns | {
        "gateway": gateway.kind,
        "gateway_proxy": gateway.proxy if gateway.is_proxy else None,
        # a command line need not have a $rate
        "gateway_rate_bps": columns["gateway_rate_bps"] or (0 if gateway.kind == "lft" else None),
    }
