"""params.json: a trial's resolved parameters as one flat object, units in the names."""

from __future__ import annotations

from scenarios import tcp_profile
from scenarios.model import Gateway
from scenarios.plan import Trial

Scalar = str | int | float | bool | None


def of(trial: Trial) -> dict[str, Scalar]:
    """Parameters as the contract names them; plain names are sender → receiver, ``ba_`` the way back."""
    setting = trial.setting
    transfer, path = setting.transfer, setting.path
    profile = tcp_profile.load(setting.profile.name)
    ab, ba = path.direction("ab"), path.direction("ba")
    return {
        "trial": trial.number,
        "case": setting.scenario.case,
        "repeat": trial.repeat,
        "seed": trial.seed if path.seed is None else path.seed,
        "profile": setting.profile.name,
        "window_bytes": transfer.window or profile.window_bytes,
        "bytes": transfer.bytes,
        "duration_ns": transfer.duration,
        "length_bytes": transfer.length,
        **ab.columns(),
        **{f"ba_{name}": value for name, value in ba.columns().items()},
        "rtt_ns": path.rtt_ns(),
        "poll_ns": path.poll,
        "spin_ns": path.spin,
        "granularity_ns": path.granularity,
        "memory_bytes": path.memory,
        "mtu": path.mtu,
        "framing": path.framing,
        "routers": path.routers,
        "congestion": transfer.congestion or profile.congestion,
        "second": transfer.second,
        "nodelay": transfer.nodelay,
        "zerocopy": bool(transfer.zerocopy),
        "family": transfer.family,
        **gateway_columns(setting.gateway),
        "tool": transfer.tool,
        "capture": ",".join(setting.capture.points),
    }


def gateway_columns(gateway: Gateway) -> dict[str, Scalar]:
    """The kind, and what that kind heeds; the rest is null."""
    columns: dict[str, Scalar] = {
        "gateway_model": gateway.model,
        "gateway_rate_bps": gateway.rate,
        "gateway_rate_mode": gateway.rate_mode,
        "gateway_recovery": gateway.recovery,
        "gateway_redundancy": gateway.redundancy,
        "gateway_cipher": gateway.cipher,
        "gateway_carriage": gateway.carriage,
    }
    heeded = {"none": (), "command": ("gateway_model",), "lft": tuple(columns)}[gateway.kind]
    return {"gateway": gateway.kind} | {name: value if name in heeded else None for name, value in columns.items()}
