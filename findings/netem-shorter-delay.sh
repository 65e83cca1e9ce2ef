#!/usr/bin/env bash
# netem of Linux 6.1 lets packets overtake each other when its delay is shortened, unless it has a rate.
#
# Valid use: netem delay 2s; three packets; tc qdisc change … delay 200ms; three packets more, all within a second.
# Seen: the second three arrive first. With `rate 1gbit` next to the delay no packet leaves before the one in front of
# it, so all arrive in order, and the new delay is seen 1.8 s late.
# Expected: tc-netem(8) names `reorder` and `delay` with jitter as what reorders, and `rate` as a delay by size.
# It misleads those who change a path's delay in the middle of a TCP transfer (route changes, satellite handovers):
# without rate the step is a burst of reordering, with it the step is late, and the figures are of another path.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import socket, subprocess, time

def netem(verb, *words):
    subprocess.run(["tc", "qdisc", verb, "dev", "lo", "root", "netem", *words], check=True)

for rate in ([], ["rate", "1gbit"]):
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(20)
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    began = time.monotonic()
    netem("add", "delay", "2s", *rate)
    for number in range(6):
        if number == 3:
            netem("change", "delay", "200ms", *rate)
        sender.sendto(str(number).encode(), receiver.getsockname())
    in_time = time.monotonic() - began < 1
    order = [receiver.recv(9).decode() for _ in range(6)]
    netem("del")
    print(*(rate or ["no rate"]), *order, "" if in_time else "(the machine was too slow to tell)")
PY
in_linux program.py sch_netem.ko
diff -Z - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
no rate 3 4 5 0 1 2
rate 1gbit 0 1 2 3 4 5
SEEN
