"""params.json: a trial's resolved parameters as one flat object, units in the names."""

from __future__ import annotations

from scenarios.plan import profiles
from scenarios.plan.model import Gateway, Transfer
from scenarios.plan.plan import Trial

Scalar = str | int | float | bool | None


def of(trial: Trial) -> dict[str, Scalar]:
    """Parameters under the contract's names. Plain names are from sender to receiver; ``ba_`` is the way back."""
    setting = trial.setting
    transfer, path = setting.transfer, setting.path
    profile = profiles.load(setting.profile.name)
    ab, ba = path.direction("ab"), path.direction("ba")
    return {
        "trial": trial.number,
        "case": setting.scenario.case,
        "repeat": trial.repeat,
        "seed": trial.seed if path.seed is None else path.seed,
        "profile": setting.profile.name,
        "window_bytes": transfer.window or (profile.window_bytes if transfer.request is None else 0),
        "sender_pace_bps": transfer.pace or None,
        "bytes": transfer.bytes,
        "request_bytes": transfer.request,
        "response_bytes": transfer.response,
        "exchanges": transfer.exchanges,
        "duration_ns": transfer.duration,
        "length_bytes": transfer.length,
        **ab.columns(),
        **{f"ba_{name}": value for name, value in ba.columns().items()},
        "rtt_ns": path.rtt_ns(),
        "distance_m": path.distance,
        "poll_ns": path.poll,
        "spin_ns": path.spin,
        "granularity_ns": path.granularity,
        "memory_bytes": path.memory,
        "mtu": path.mtu,
        "framing": path.framing,
        "routers": path.routers,
        "congestion": transfer.congestion or profile.congestion,
        "second": transfer.second,
        "plain": transfer.plain,
        "short_bytes": transfer.short,
        **_tool_columns(transfer),
        **gateway_columns(setting.gateway),
        "capture": ",".join(setting.capture.points),
        "snap_bytes": setting.capture.snap,
    }


def _tool_columns(transfer: Transfer) -> dict[str, Scalar]:
    """The transfer tool, and how it sends."""
    return {
        "tool": transfer.tool,
        "parallel": transfer.parallel,
        "bidir": transfer.bidir,
        "nodelay": transfer.nodelay,
        "verify": transfer.verify,
        "zerocopy": bool(transfer.zerocopy),
        "sample_ns": transfer.sample,
        "interval_ns": transfer.interval,
        "family": transfer.family,
    }


def gateway_columns(gateway: Gateway) -> dict[str, Scalar]:
    """The kind, and the settings that this kind heeds; all others are null."""
    columns: dict[str, Scalar] = {
        "gateway_model": gateway.model,
        "gateway_rate_bps": gateway.rate,
        "gateway_host_rate_bps": gateway.host_rate,
        "gateway_rate_mode": gateway.rate_mode,
        "gateway_recovery": gateway.recovery,
        "gateway_redundancy": gateway.redundancy,
        "gateway_cipher": gateway.cipher,
        "gateway_carriage": gateway.carriage,
        "gateway_near": gateway.near,
        "gateway_far": gateway.far,
        "gateway_settle_ns": gateway.settle,
    }
    of_commands = ("gateway_model", "gateway_near", "gateway_far", "gateway_settle_ns")
    of_lft = tuple(name for name in columns if name not in of_commands[1:])
    heeded = {"none": (), "command": of_commands, "lft": of_lft}[gateway.kind]
    return {"gateway": gateway.kind} | {name: value if name in heeded else None for name, value in columns.items()}
