"""[gateway]: the gateways between hosts and path, at both ends.

Each key is one row, and everything else follows from it (keys.py). A row of a new option of lft-gateway goes behind
``fec_percent``.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import model_validator

from netcommon import quantity
from scenarios.plan.keys import row
from scenarios.plan.values import Flag, S, Table, choice, of_option, within

LFT, COMMAND, ANY = ("lft",), ("command",), ("lft", "command")


class Gateway(Table):
    """[gateway]: the gateways between hosts and path, at both ends. ``near`` and ``far`` are the command lines of kind
    ``command``, ``programs`` is what they start, ``folder`` where they run, and ``settle`` is the time that they get
    to start. The keys from ``rate`` to ``fec_percent`` are options of lft-gateway."""

    kind: Literal["none", "lft", "command"] = row(
        "none",
        "lft: `lft-gateway`; command: any two programs",
        column="gateway",
        label="Gateway",
    )
    model: Literal["router", "proxy", "host"] = row(
        "router",
        "router: hosts connect to each other as without gateways; proxy: the sender connects to the near gateway; "
        "host: gateways run in the hosts, and there are no nodes gw1 and gw2",
        column="gateway_model",
        label="Relay model",
        kinds=ANY,
    )
    proxy: Literal["ports", "socks5", "http", "transparent"] = row(
        "ports",
        'of model proxy: how clients name their destination; see "Proxies"',
        column="gateway_proxy",
        label="Way to the proxy",
        kinds=ANY,
    )
    rate: Annotated[int, *of_option(quantity.RATE, "gateway", "rate")] = row(
        0,
        'limit towards the path; 0: none. `"1 line"` is the rate of the slowest line from sender to receiver, '
        "rounded down to whole Mbit/s; each setting of a sweep has its own",
        allowed="at least 0, in steps of 1Mbit, or a multiple of the line",
        column="gateway_rate_bps",
        label="Gateways' limit",
        kinds=ANY,
        given=True,
    )
    host_rate: Annotated[int, *of_option(quantity.RATE, "gateway", "host_rate")] = row(
        0,
        "limit of each gateway towards its hosts, TCP payload; 0: none. Only with kind lft",
        allowed="at least 0, in steps of 1Mbit",
        column="gateway_host_rate_bps",
        label="Gateways' limit towards hosts",
        kinds=LFT,
        given=True,
    )
    rate_mode: Annotated[str, *choice("gateway", "rate_mode")] = row(
        "fixed",
        "this key and the next five are lft's; lft-gateway(1) says more",
        column="gateway_rate_mode",
        label="Rate control",
        kinds=LFT,
        given=True,
    )
    recovery: Annotated[str, *choice("gateway", "recovery")] = row(
        "selective",
        "how lost frames are sent again",
        column="gateway_recovery",
        label="Recovery",
        kinds=LFT,
        given=True,
    )
    redundancy: Flag = row(
        True,
        "copies of unacknowledged frames while the line is idle",
        column="gateway_redundancy",
        label="Redundant copies",
        kinds=LFT,
        given="no_redundancy",
    )
    cipher: Annotated[str, *choice("gateway", "cipher")] = row(
        "aes-128-gcm",
        "the same at both ends",
        column="gateway_cipher",
        label="Cipher",
        kinds=LFT,
        given=True,
    )
    carriage: Annotated[str, *choice("gateway", "carriage")] = row(
        "udp",
        "frames in UDP or as IP protocol 50",
        column="gateway_carriage",
        label="Carriage",
        kinds=LFT,
        given=True,
    )
    fec_percent: Annotated[int, *of_option(quantity.COUNT, "gateway", "fec_percent")] = row(
        0,
        "with recovery `fec`: repair frames for each 100 frames; 0: as many as the measured loss requires",
        column="gateway_fec_percent",
        label="Repair frames with FEC",
        kinds=LFT,
        given=True,
    )
    near: str | None = row(
        None,
        "of kind command: the program on the sender's side",
        allowed="command line",
        column="gateway_near",
        label="Near gateway's command",
        kinds=COMMAND,
    )
    far: str | None = row(
        None,
        "the program on the receiver's side",
        allowed="command line",
        column="gateway_far",
        label="Far gateway's command",
        kinds=COMMAND,
    )
    programs: tuple[str, ...] = row(
        (),
        "of kind command: programs that the command lines start. A run refuses to begin where one is missing; the "
        "manifest has their hashes",
        default="none",
        allowed="list of names",
        column=None,
        kinds=COMMAND,
    )
    folder: str | None = row(
        None,
        "of kind command: the folder in which the command lines run; a relative path starts at the scenario "
        "file's folder",
        default="the scenario file's",
        allowed="path",
        column=None,
        kinds=COMMAND,
    )
    settle: Annotated[int, *within(quantity.DURATION, 0, 60 * S)] = row(
        S,
        "of kind command: time between the start of the programs and the transfer. It ends early when the near program "
        "prints a line `ready`",
        column="gateway_settle_ns",
        label="Time to settle",
        kinds=COMMAND,
    )

    @model_validator(mode="after")
    def _commands_when_wanted(self) -> Gateway:
        for key in ("rate", "host_rate"):
            if getattr(self, key) % 10**6:
                raise ValueError(f"'{key}': not a multiple of 1Mbit; want whole Mbit/s, such as 20Mbit, or 0 for none")
        if self.host_rate and self.kind != "lft":
            raise ValueError(f"'host_rate': not with kind '{self.kind}', which has no such limit; use kind = \"lft\"")
        if self.proxy != "ports" and not self.is_proxy:
            raise ValueError("'proxy': of model 'proxy' alone; set model = \"proxy\", or drop it")
        if self.proxy == "transparent" and self.kind == "lft":
            raise ValueError("'proxy': lft's model \"router\" is transparent; use that one")
        wanted = self.kind == "command"
        if wanted != (self.near is not None) or wanted != (self.far is not None):
            raise ValueError("kind 'command' takes 'near' and 'far', two command lines; the others take neither")
        if self.programs and not wanted:
            raise ValueError("'programs': of kind 'command' alone; drop it")
        return self

    @property
    def is_proxy(self) -> bool:
        return self.kind != "none" and self.model == "proxy"

    @property
    def has_ports(self) -> bool:
        """Whether clients reach the server by ports of the near gateway, which has to know them."""
        return self.is_proxy and self.proxy == "ports"

    @property
    def is_asked(self) -> bool:
        """Whether clients send the near gateway a connect request. Their connections begin with this request, so
        offsets differ from those of the far gateway's connection."""
        return self.is_proxy and self.proxy in ("socks5", "http")

    @property
    def has_nodes(self) -> bool:
        """Whether there are gateways in nodes of their own, rather than inside the hosts."""
        return self.kind != "none" and self.model != "host"
