"""Wrong scenarios: one line each, with file, line, key, value, what is allowed and what to do; and status 2 or 3.

A case is a valid scenario with one line replaced or some lines added. The error must name the line number of the
change's first line, plus ``down``.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from lfp import cli
from netcommon.errors import EXIT_DONE, EXIT_MISSING, EXIT_USAGE
from scenarios.plan import feasible

RIGHT = """\
[scenario]
name = "wrong"
[path]
delay = "10ms"
rate = "80Mbit"
queue = "64KB"
[transfer]
bytes = "1MB"
window = "64KB"
[run]
seed = 1
"""
END = ""
NAME, DELAY, RATE, QUEUE, BYTES, WINDOW, SEED = (RIGHT.splitlines()[n] for n in (1, 3, 4, 5, 7, 8, 10))


@dataclass(frozen=True)
class Wrong:
    """``lines`` replace ``old`` (END: are added at the end), and what the error must say after ``FILE:LINE: ``."""

    old: str
    lines: str
    said: str
    down: int = 0

    @property
    def text(self) -> str:
        return RIGHT.replace(self.old, self.lines, 1) if self.old else RIGHT + self.lines + "\n"

    @property
    def line(self) -> int:
        before = RIGHT.partition(self.old)[0] if self.old else RIGHT
        return before.count("\n") + 1 + self.down


def of_path(key: str, value: str, said: str) -> Wrong:
    return Wrong(DELAY, f"{key} = {value}\n{DELAY}", said)


def of_transfer(key: str, value: str, said: str) -> Wrong:
    return Wrong(WINDOW, f"{key} = {value}", said)


def in_table(header: str, lines: str, said: str, down: int = 1) -> Wrong:
    return Wrong(END, f"{header}\n{lines}", said, down)


TYPES = [
    Wrong(DELAY, "delay = true", "path.delay = true: not a duration; want for example 100ms"),
    Wrong(
        DELAY,
        'delay = ["10ms", "20ms"]',
        "path.delay = ['10ms', '20ms']: one value stands here; to sweep several, write \"path.delay\" = "
        '["10ms", "20ms"] in [sweep]',
    ),
    Wrong(DELAY, "delay = 1979-05-27", "path.delay = 1979-05-27: not a duration; want for example"),
    Wrong(DELAY, "delay = nan", "path.delay = nan: not a duration; want for example"),
    of_path("mtu", '"big"', "path.mtu = 'big': not a whole number; allowed is 1280 to 9216"),
    of_path("mtu", "1500.5", "path.mtu = 1500.5: not a whole number; allowed is 1280 to 9216"),
    of_path("balance", "1", "path.balance = 1: not a text; allowed is one of flow, packet"),
    of_path("channels", "2.5", "path.channels = 2.5: not a whole number; want for example 100"),
    of_transfer("verify", '"maybe"', "transfer.verify = 'maybe': allowed is true or false"),
    of_transfer("nodelay", "1", "transfer.nodelay = 1: allowed is true or false"),
    of_transfer("congestion", "3", "transfer.congestion = 3: not a text; want one in quotation marks, such as"),
    in_table("[profile]", "name = 3", "profile.name = 3: not a text; want one in quotation marks"),
    in_table("[profile]", "sysctl = 3", "profile.sysctl = 3: not a text; want one in quotation marks"),
    in_table("[profile]", 'sysctl = "tcp_ecn=1"', "profile.sysctl = 'tcp_ecn=1': want NAME=VALUE"),
    in_table("[profile]", 'sysctl = "net.ipv4.tcp_ecn"', "profile.sysctl = 'net.ipv4.tcp_ecn': want NAME=VALUE"),
    in_table("[profile]", 'sysctl = "net.ipv4/../x=1"', "profile.sysctl = 'net.ipv4/../x=1': want NAME=VALUE"),
    in_table("[capture]", "points = 3", "capture.points = 3: not a list; want values in brackets"),
    in_table(
        "[sweep]", '"path.delay" = "1ms"', "sweep 'path.delay': want a list of values, not '1ms'; want for example"
    ),
    in_table("[expect]", 'say = "x"\nmin = 1', "'expect' is a list of tables; write [[expect]] above", down=0),
    in_table("[[expect]]", 'say = "x"\nmin = true', "expect.0.min = true: not a bound; want a number", down=2),
    Wrong(
        "[path]", "[[path]]", "path = [{'delay': '10ms', 'rate': '80Mbit', 'queue': '64KB'}]: not a table; write [path]"
    ),
]
UNITS = [
    Wrong(DELAY, 'delay = "10Mbit"', "path.delay = '10Mbit': not a duration; want for example 100ms"),
    Wrong(DELAY, 'delay = "10 parsecs"', "path.delay = '10 parsecs': not a duration; want for example 100ms"),
    Wrong(DELAY, 'distance = "5 miles"', "path.distance = '5 miles': not a distance; want for example 1000km"),
    Wrong(RATE, 'rate = "80MB"', "path.rate = '80MB': not a rate; want for example 45Mbit"),
    Wrong(QUEUE, 'queue = "64 packets"', "path.queue = '64 packets': not a size; want for example 9000, 110KB"),
    Wrong(QUEUE, 'queue = "0.5 BPD"', "path.queue = '0.5 BPD': not a size; want for example 9000, 110KB"),
    of_path("loss", '"1/100"', "path.loss = '1/100': not a ratio; want for example 0.01%"),
    Wrong(DELAY, "delay = 40", """path.delay = 40: has no unit; write "40ms" or "40s\""""),
    Wrong(DELAY, 'delay = "4.2"', "path.delay = '4.2': has no unit; write 4.2ms or 4.2s"),
    Wrong(DELAY, "distance = 880", """path.distance = 880: has no unit; write "880km" or "880m\""""),
    Wrong(RATE, "rate = 80", """path.rate = 80: has no unit; write "80Mbit" or "80bit\""""),
    of_path("loss", "1", """path.loss = 1: has no unit; write "1%" or "100%\""""),
    of_path("loss", "'gilbert:1,10'", "path.loss = 'gilbert:1,10': '1': has no unit; write 1% or 100%"),
    of_path(
        "queue_packets",
        '"64KB"',
        "path.queue_packets = '64KB': not a whole number; want for example 100, without a unit",
    ),
]
RANGES = [
    Wrong(DELAY, 'delay = "-1ms"', "path.delay = '-1ms': negative; want a duration such as 100ms"),
    Wrong(DELAY, 'delay = "2h"', "path.delay = '2h': out of range; allowed is 0ns to 3600s"),
    of_path("channels", "0", "path.channels = 0: out of range; allowed is 1 to 16"),
    of_path("routers", "1", "path.routers = 1: out of range; allowed is 2 to 16"),
    of_path("seed", "-1", "path.seed = -1: out of range; allowed is 0 to 9007199254740992"),
    of_path("loss", '"200%"', "path.loss = '200%': out of range; allowed is 0% to 100%"),
    Wrong(BYTES, "bytes = 0", "transfer.bytes = 0: out of range; allowed is 1 or more"),
    Wrong(BYTES, "duration = 0", "transfer.duration = 0: out of range; allowed is 10ms to 604800s"),
    of_transfer("window", '"2GB"', "transfer.window = '2GB': out of range; allowed is 2KB to 1GB"),  # RFC 7323
    of_transfer("window", '"0 BDP"', "transfer.window = '0 BDP': less than a byte; want for example 0.5 BDP"),
    of_transfer("pace", '"100bit"', "transfer.pace = '100bit': out of range; allowed is 1Kbit to 1Tbit, or 0 for none"),
    Wrong(END, "repeat = 0", "run.repeat = 0: out of range; allowed is 1 to 10000"),
    Wrong(END, 'timeout = "25h"', "run.timeout = '25h': out of range; allowed is 100ms to 86400s"),
    in_table(
        "[route]",
        'points = [{name = "a", latitude = 91, longitude = 0}]',
        "route.points.0.latitude = 91: out of range; want at most 90",
    ),
]
NAMES = [
    Wrong(DELAY, 'dealy = "10ms"', "unknown key 'path.dealy' — did you mean 'delay'? allowed: delay, rate, queue"),
    Wrong(END, "x = 1", "unknown key 'run.x'; allowed: repeat, order, seed"),
    in_table(
        "[gatway]", 'kind = "lft"', "unknown key 'gatway' — did you mean 'gateway'? allowed: scenario, path", down=0
    ),
    in_table("[path.sub]", "a = 1", "unknown key 'path.sub'; allowed: delay, rate", down=0),
    in_table("[quik.path]", 'delay = "1ms"', "unknown key 'quik' — did you mean 'quick'? allowed: ", down=0),
    in_table("[quick.path]", 'dealy = "1ms"', "unknown key 'quick.path.dealy' — did you mean 'delay'? allowed: "),
    in_table("[case.far.path]", 'dealy = "1ms"', "unknown key 'case.far.path.dealy' — did you mean 'delay'? allowed: "),
    in_table("[case.far.pth]", 'delay = "1ms"', "unknown key 'case.far.pth' — did you mean 'path'? allowed: ", down=0),
    in_table("[case]", "far = 1", "case.far = 1: not a table; want [case.far.TABLE], such as [case.far.path]"),
    in_table(
        "[profile]",
        'name = "modren"',
        "profile.name = 'modren': unknown — did you mean 'modern'? allowed: as-it-is, bbr",
    ),
    of_transfer(
        "congestion", '"cubik"', "transfer.congestion = 'cubik': unknown — did you mean 'cubic'? allowed is one of bbr"
    ),
    of_transfer("second", '"renoo"', "transfer.second = 'renoo': unknown — did you mean 'reno'? allowed is one of bbr"),
    of_transfer(
        "congestion", '"Cubic"', "transfer.congestion = 'Cubic': want the kernel's name in small letters, such as cubic"
    ),
    of_transfer(
        "congestion",
        '"lfp_xys:z=4"',
        "transfer.congestion = 'lfp_xys:z=4': 'z=4': unknown; the keys of lfp_xys are x, y",
    ),
    of_transfer(
        "congestion", '"lfp_xys:x=one"', "transfer.congestion = 'lfp_xys:x=one': 'x=one': want KEY=NUMBER; the keys"
    ),
    of_transfer("congestion", '"reno:x=1"', "transfer.congestion = 'reno:x=1': parameters only with lfp_cpeak"),
    of_transfer(
        "tool", '"iperf"', "transfer.tool = 'iperf': unknown — did you mean 'iperf3'? allowed is one of rttcp, iperf3"
    ),
    in_table(
        "[gateway]",
        'kind = "lft"\nrecovery = "arq"',
        "gateway.recovery = 'arq': allowed is one of gbn-strict, gbn, selective, fec",
        down=2,
    ),
    in_table("[gateway]", 'kind = "squid"', "gateway.kind = 'squid': unknown; allowed is one of none, lft, command"),
    in_table(
        "[capture]",
        'points = ["snd", "recv"]',
        "capture.points.1 = 'recv': unknown — did you mean 'rcv'? allowed is one of snd",
    ),
    in_table("[report]", 'x = "path.quue"', "report.x = 'path.quue': unknown; did you mean 'path.queue'? allowed: "),
    in_table(
        "[report]",
        'reference = ["lfp-1995-fig33"]',
        "report.reference = 'lfp-1995-fig33': unknown — did you mean 'lfp-1995-fig3'? allowed: ",
    ),
    in_table(
        "[[expect]]",
        'say = "x"\nof = "speed"\nmin = 1',
        "[expect.0]: expect 'x': of = 'speed': unknown; allowed: short_term_bps",
        down=0,
    ),
    in_table("[sweep]", '"path.dealy" = ["1ms"]', "unknown key 'path.dealy' — did you mean 'delay'? allowed: "),
    in_table(
        "[sweep]",
        '"scenario.case" = ["far"]',
        "scenario.case = 'far': unknown; the scenario has no cases; write a table such as [case.far.path]",
    ),
    Wrong(NAME, 'name = "../up"', "scenario.name = '../up': want letters, digits, '.', '_' and '-', beginning with"),
    Wrong(
        NAME,
        f'{NAME}\nextends = "no-such"',
        "scenario.extends = 'no-such': scenario 'no-such': neither a .toml file nor",
        1,
    ),
]
MODELS = [
    of_path(
        "loss", '"gilbrt:1%,10"', "path.loss = 'gilbrt:1%,10': no such loss model; want a share such as 1%, or gilbert:"
    ),
    of_path(
        "loss", '"gilbert:1%"', "path.loss = 'gilbert:1%': want gilbert:MEAN_LOSS,MEAN_BURST, such as gilbert:1%,10"
    ),
    of_path(
        "jitter",
        '"normel:2ms"',
        "path.jitter = 'normel:2ms': no such jitter model; want a duration such as 2ms, or uniform:",
    ),
    of_path(
        "jitter",
        '"table:/no/such"',
        "path.jitter = 'table:/no/such': /no/such: No such file or directory; name a file that can be read",
    ),
    of_path(
        "aqm",
        '"codle"',
        "path.aqm = 'codle': 'codle': no such queue management; allowed is one of none, red, codel, pie, fq_codel, "
        "policer, dualpi2, step",
    ),
    of_path("rate_trace", '"rate:5"', "path.rate_trace = 'rate:5': '5': want TIME=RATE, such as 5s=1Mbit"),
]
FLOWS = [
    in_table("[flow.b]", "pair = 17", "flow.b.pair = 17: out of range; allowed is 1 to 16"),
    in_table("[flow.b]", 'start = "5Mbit"', "flow.b.start = '5Mbit': not a duration; want for example 100ms"),
    in_table(
        "[flow.b]", 'congestoin = "bbr"', "unknown key 'flow.b.congestoin' — did you mean 'congestion'? allowed: "
    ),
    in_table(
        "[flow.b]", 'congestion = "cubik"', "flow.b.congestion = 'cubik': unknown — did you mean 'cubic'? allowed"
    ),
    in_table("[flow.b]", 'tool = "iperf"', "flow.b.tool = 'iperf': unknown — did you mean 'iperf3'? allowed is one of"),
    in_table("[flow.b]", 'bytes = 1\nduration = "1s"', "flow.b.bytes = 1: give either 'bytes' or 'duration'"),
    in_table("[flow.b]", 'second = "reno"', "flow.b.second = 'reno': not in a flow; write another [flow.NAME]"),
    in_table("[flow.b]", 'short = "1KB"\nduration = "1s"', "flow.b.short = '1KB': not in a flow; write another"),
    in_table("[flow.main]", "pair = 2", "flow.main: 'main' is the name of [transfer]'s own flow; take another", down=0),
    in_table('[flow."a/b"]', "pair = 2", "[flow.a/b]: want letters, digits, '.', '_' and '-', beginning with", down=0),
    in_table("[flow]", "b = 2", "flow.b = 2: not a table; write [flow.NAME], and below it its keys"),
    of_transfer("second", '"reno"\n[flow.b]', "transfer.second = 'reno': not with [flow.NAME], which says more; write"),
    in_table("[quick.flow.b]", "strat = 1", "unknown key 'quick.flow.b.strat' — did you mean 'start'? allowed: "),
    in_table(
        "[sweep]", '"flow.b.start" = ["1s"]', "sweep 'flow.b.start': there is no such flow; write a table [flow.b]"
    ),
    in_table("[pair.0]", "", "[pair.0]: want the number of a host pair, 1 to 16: [pair.2]", down=0),
    in_table(
        "[pair.2]", "gatway = 1", "unknown key 'pair.2.gatway' — did you mean 'gateway'? allowed: gateway, path, "
    ),
    in_table(
        "[pair.2.path]", "mtu = 9000", "pair.2.path.mtu = 9000: [path] has it for the whole network; set it there, or"
    ),
    in_table(
        "[pair.2.path]", "dealy = 1", "unknown key 'pair.2.path.dealy' — did you mean 'delay'? allowed: delay, rate"
    ),
    in_table("[pair.2.path]", "delay = 40", "pair.2.path.delay = 40: has no unit; write"),
    in_table(
        "[pair.2.path]",
        'delay = "1ms"\n[gateway]\nkind = "lft"',
        "pair.2.path: the path begins at the near gateway, which pairs 1 and 2 share; give the pair its own",
        0,
    ),
    in_table(
        "[pair.2.gateway]",
        'kind = "squid"',
        "pair.2.gateway.kind = 'squid': unknown; allowed is one of none, lft, command",
    ),
    in_table(
        "[pair.1.sender]",
        'address = "192.0.2.1"\nssh = "a"',
        'pair.1.sender: only for hosts that exist already; set topology.kind = "existing", or leave it out',
        down=0,
    ),
    in_table(
        "[topology]", 'kind = "ring"', "topology.kind = 'ring': unknown; allowed is one of dumbbell, parking-lot,"
    ),
    in_table(
        "[topology]", 'kind = "parking-lot"', "[topology]: 'hops' is missing, which kind 'parking-lot' needs; set", 0
    ),
    in_table(
        "[topology]", "hops = 3", "topology.hops = 3: not with kind 'dumbbell'; set kind = \"parking-lot\", or leave"
    ),
    in_table(
        "[topology]", 'left = "eth1"', "topology.left = 'eth1': not with kind 'dumbbell', which makes its own; use"
    ),
    in_table(
        "[topology]",
        'kind = "parking-lot"\nhops = 2\n[flow.b]\npair = 4',
        "flow.b.pair = 4: a parking lot with 2 hops has pairs 1 to 3; take one of them, or set topology.hops to 3",
        4,
    ),
    in_table(
        "[topology]",
        'kind = "parking-lot"\nhops = 2\n[gateway]\nkind = "lft"',
        "topology.kind = 'parking-lot': a parking lot has no gateways; use kind",
    ),
    in_table(
        "[topology]", 'kind = "existing"', "topology.kind = 'existing': pair 1 has no sender; write [pair.1.sender]"
    ),
    in_table(
        "[[expect]]",
        'say = "x"\nmin = 1\nwhere = {"flow.b.start" = "1s"}\n[flow.b]',
        "[expect.0]: expect 'x': 'flow.b.start': not a key of every flow; want flow = NAME",
        0,
    ),
    Wrong(
        END, 'precision = "2%"', "run.precision = '2%': at least 5 repeats come first; set run.repeat, the most, to 6"
    ),
]
TOGETHER = [
    Wrong(DELAY, f'{DELAY}\ndistance = "100km"', "path.delay = '10ms': give either 'delay' or 'distance'"),
    Wrong(BYTES, 'bytes = "1MB"\nduration = "1s"', "transfer.bytes = '1MB': give either 'bytes' or 'duration'"),
    Wrong(BYTES, "", "[transfer]: give either 'bytes' or 'duration'", -1),
    Wrong(
        f"{RATE}\n{QUEUE}",
        'queue = "0.5 BDP"',
        "path.queue = '0.5 BDP': a path without rate has no BDP; set path.rate, or give a size such as 110KB",
    ),
    of_transfer(
        "verify", 'true\ntool = "iperf3"', 'transfer.verify = true: iperf3 does not check content; use tool = "rttcp"'
    ),
    of_transfer(
        "second",
        '"reno"\ntool = "iperf3"',
        "transfer.second = 'reno': iperf3 has one congestion control a run; use tool",
    ),
    of_transfer(
        "pace", '"1Mbit"\ntool = "iperf3"', "transfer.pace = '1Mbit': iperf3 as it is run here has no pacing; use tool"
    ),
    of_transfer(
        "pace_burst", '"1MB"', "transfer.pace_burst = '1MB': what a paced sender writes at once; give 'pace' too"
    ),
    of_transfer(
        "verify",
        "true\nzerocopy = true",
        "transfer.verify = true: not with 'zerocopy', which leaves the content unread",
    ),
    Wrong(
        BYTES, 'duration = "1500ms"\ntool = "iperf3"', "transfer.duration = '1500ms': iperf3 takes whole seconds; want"
    ),
    in_table(
        "[gateway]",
        'recovery = "fec"',
        "gateway.recovery = 'fec': no trial has a gateway that takes it; set gateway.kind = \"lft\", or leave",
    ),
    in_table(
        "[gateway]",
        'rate = "80Mbit"',
        "gateway.rate = '80Mbit': no trial has a gateway that takes it; set gateway.kind",
    ),
    in_table(
        "[gateway]",
        'kind = "lft"\nrate = "1500Kbit"',
        "gateway.rate = '1500Kbit': not a multiple of 1Mbit; want whole",
        2,
    ),
    in_table(
        "[gateway]", 'kind = "command"\nnear = "a"', "gateway.near = 'a': kind 'command' takes 'near' and 'far', two", 2
    ),
    in_table(
        "[gateway]",
        'kind = "command"\nnear = "a \'b"\nfar = "c"',
        'gateway.near = "a \'b": no closing quotation; write',
        2,
    ),
    in_table(
        "[gateway]",
        'kind = "command"\nnear = "a $hear"\nfar = "c"',
        "gateway.near = 'a $hear': $hear: unknown; allowed is one",
        2,
    ),
    in_table(
        "[capture]",
        'points = ["gw1-in"]',
        "capture.points = 'gw1-in': no such node exists with [gateway] kind 'none'",
    ),
    in_table(
        "[capture]",
        'points = ["snd", "snd"]',
        "capture.points = ['snd', 'snd']: 'snd' is given twice; name each point once",
    ),
    in_table("[sweep]", '"path.delay" = []', "sweep 'path.delay': want a list of values, not []; want for example"),
    in_table(
        "[sweep]",
        'path.delay = ["1ms"]',
        "sweep 'path' = {'delay': ['1ms']}: a table; write TABLE.KEY in quotation marks",
    ),
    in_table(
        "[sweep]",
        '"path.delay" = ["1ms"]\n"path.distance" = ["9km"]',
        "sweep 'path.distance' = ['9km']: 'path.delay' is swept too, and only one of them can hold; drop one",
        2,
    ),
    in_table("[sweep]", '"path.delay" = ["1ms", "1Mbit"]', "path.delay = '1Mbit': not a duration; want for example"),
    in_table(
        "[case.far.path]",
        'delay = "1ms"\n[sweep]\n"scenario.case" = [["far"]]',
        "scenario.case = ['far']: unknown — did you mean 'far'? allowed: far",
        3,
    ),
    in_table(
        "[[expect]]",
        'say = "x"\nmin = "2Mbit"\nmax = "1Mbit"',
        "[expect.0]: expect 'x': min = '2Mbit' is above max = '1Mbit'",
        0,
    ),
    in_table(
        "[[expect]]", 'say = "x"\nmin = "2ms"', "[expect.0]: expect 'x': '2ms': not a rate; want for example 45Mbit", 0
    ),
    in_table(
        "[[expect]]",
        'say = "a"\nmin = "1bit"\n[[expect]]\nsay = "x"\nmni = 1',
        "unknown key 'expect.1.mni' — did you mean 'min'?",
        5,
    ),
    in_table(
        "[report]",
        'regions = [{label = "a", from = 5, to = 2}]',
        "report.regions.0.from = 5: not below 'to', which is 2.0; want",
    ),
    Wrong(
        END,
        'timeout = "100ms"',
        "run.timeout = '100ms': the transfer takes 320ms without any loss; allow more time, leave",
    ),
    of_path(
        "memory",
        '"4MB"\nab_rate = "10Gbit"',
        "path.memory = '4MB': the delay box holds 12MB with path.delay 10ms, path.rate 10Gbit and path.queue 64KB; set",
    ),
    Wrong(
        RATE,
        'rate = "400Gbit"\nab_delay = "1h"',
        "path.rate = '400Gbit': the delay box holds 167639GB with path.delay 3600s",
    ),
    Wrong(
        QUEUE,
        'queue = "1TB"',
        "path.queue = '1TB': the delay box holds 1025GB with path.delay 10ms, path.rate 80Mbit and path.queue 1TB, "
        "more than this machine's memory, which is 16GB; lower one of them",
    ),
]
TOML = [
    Wrong(
        DELAY,
        "delay = 10ms",
        "not TOML: 'delay = 10ms': expected newline or end of document after a statement; want [TABLE]",
    ),
    Wrong(SEED, "seed =", "not TOML: 'seed =': invalid value; want [TABLE] or KEY = VALUE"),
    Wrong("[run]", "[run", "not TOML: '[run': expected ']' at the end of a table declaration; want [TABLE]"),
    Wrong(DELAY, f"{DELAY}\ndelay = 5", "'delay = 5': delay is already given in line 4; keep one of them", 1),
    Wrong("[run]", "[path]", "[path] is already in line 3; put the keys of both together"),
]
ALL = [*TYPES, *UNITS, *RANGES, *NAMES, *MODELS, *FLOWS, *TOGETHER, *TOML]


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = EXIT_USAGE) -> str:
    """The one line on stderr, without ``lfp: ``. Nothing is on stdout."""
    found = cli.run(list(arguments))
    printed = capsys.readouterr()
    assert (found, printed.out, printed.err.count("\n")) == (status, "", 1), printed
    assert printed.err.startswith("lfp: ") and printed.err.removesuffix("\n").isprintable()
    return printed.err.removeprefix("lfp: ").rstrip("\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_scenario_that_all_cases_begin_with_is_right(folder: Path) -> None:
    (folder / "right.toml").write_text(RIGHT)
    assert cli.run(["explain", "right.toml"]) == EXIT_DONE
    assert len({case.text for case in ALL}) == len(ALL) >= 40


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.said[:60])
def test_one_line_names_file_key_value_and_remedy(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: Wrong
) -> None:
    monkeypatch.setattr(feasible, "machine_bytes", lambda: 16 * 2**30)
    (folder / "wrong.toml").write_text(case.text)
    line = refused(capsys, "explain", "wrong.toml")
    place, _, said = line.partition(": ")
    assert said.startswith(case.said), line
    assert place == f"wrong.toml:{case.line}", line


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "folder.toml",
            None,
            "scenario 'folder.toml': a folder; want a .toml file in it, or a name that 'lfp list' shows",
        ),
        (
            "mising.toml",
            b"",
            "scenario 'missing.toml': no such file — did you mean 'mising.toml'? want a .toml file that",
        ),
        ("text.txt", b"x", "scenario 'text.txt': its name does not end in .toml; want a .toml file, or a name"),
        (
            "binary.toml",
            b"\x7fELF\xff\xfe\0",
            "binary.toml: not UTF-8 text: octet 4 is 0xff; want a TOML file, saved as UTF-8",
        ),
        ("nul.toml", b"[path]\n\0\n", "nul.toml:2: not TOML: "),
        ("empty.toml", b"", "empty.toml: missing 'transfer'; write a table [transfer] with its keys: tool, bytes"),
        ("deep.toml", b"a = " + b"[" * 9000 + b"]" * 9000, "deep.toml: not a scenario: nested too deeply; want tables"),
        ("open.toml", b'a = """\nb', "open.toml: not TOML: "),
        (
            "top.toml",
            b"quick = 1\n" + RIGHT.encode(),
            "top.toml:1: quick = 1: not a table; want [quick.TABLE], such as",
        ),
        (
            "lfp-syndrom",
            None,
            "scenario 'lfp-syndrom': neither a .toml file nor in the library — did you mean 'lfp-syndrome'?",
        ),
    ],
)
def test_a_file_that_is_no_scenario(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes | None, said: str
) -> None:
    if name == "folder.toml":
        (folder / name).mkdir()
    if content is not None:
        (folder / name).write_bytes(content)
    line = refused(capsys, "explain", "missing.toml" if name == "mising.toml" else name)
    assert line.startswith(said), line


def test_a_name_that_no_file_can_have(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "explain", "x" * 5000)
    assert "File name too long; want a .toml file, or a name that 'lfp list' shows" in said and len(said) < 200


MANY = 'bytes = "1TB"\nparallel = 100'


def test_more_in_flight_than_the_machine_has_memory(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """100 windows of 64 MB on a path that holds 11.6 GB."""
    text = RIGHT.replace(BYTES, MANY).replace(WINDOW, 'window = "64MB"').replace(QUEUE, 'memory = "20GB"')
    (folder / "large.toml").write_text(text.replace(DELAY, 'delay = "5s"').replace(RATE, 'rate = "10Gbit"'))
    monkeypatch.setattr(feasible, "machine_bytes", lambda: 6400 * 2**20 - 1)
    said = refused(capsys, "explain", "large.toml", status=EXIT_MISSING)
    assert said == (
        "large.toml:10: transfer.window = '64MB': 6400MB are in flight on this path, and this machine has 6400MB of "
        "memory; lower transfer.window, transfer.parallel, path.rate or path.delay"
    )
    monkeypatch.setattr(feasible, "machine_bytes", lambda: 6400 * 2**20)
    assert cli.run(["explain", "large.toml"]) == EXIT_DONE


def test_settings_of_gateways_rest_where_another_layer_has_none(folder: Path) -> None:
    (folder / "tunnel.toml").write_text(f'{RIGHT}[gateway]\nkind = "lft"\nrecovery = "fec"\n')
    assert cli.run(["explain", "tunnel.toml", "--set", "gateway.kind=none"]) == EXIT_DONE


def test_netem_says_what_it_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "channels.toml").write_text(RIGHT.replace(QUEUE, f"{QUEUE}\nchannels = 2"))
    said = refused(capsys, "explain", "channels.toml", "--time", "virtual", "--box", "netem")
    assert said == "--box netem: netem cannot do channels; use --box kernel or comet"


def test_a_run_refuses_the_same_before_it_makes_anything(folder: Path) -> None:
    """Through the program itself: it prints one line without a traceback, and makes no directory of runs."""
    for old, new, said in (
        (DELAY, 'dealy = "1ms"', "unknown key 'path.dealy' — did you mean 'delay'?"),
        (WINDOW, 'congestion = "cubik"', "transfer.congestion = 'cubik': unknown"),
        (QUEUE, 'queue = "1TB"', "path.queue = '1TB': the delay box holds 1025GB"),
    ):
        (folder / "wrong.toml").write_text(RIGHT.replace(old, new, 1))
        argv = [str(Path(sys.prefix) / "bin" / "lfp"), "run", "wrong.toml"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (EXIT_USAGE, "", 1), done.stderr
        assert done.stderr.startswith("lfp: wrong.toml:") and said in done.stderr
        assert [one.name for one in folder.iterdir()] == ["wrong.toml"]
