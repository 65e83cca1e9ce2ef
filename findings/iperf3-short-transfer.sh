#!/usr/bin/env bash
# iperf3 3.12 calls a transfer of `-n` octets done, with status 0, though the server has received none of them.
#
# Valid use: iperf3 --client --bytes 60K --json through a proxy that passes on what the data connection brings two
# seconds late, as a path does that loses its first packets; the control connection is passed on at once.
# Seen: status 0, no error, sum_sent 61,440 octets, sum_received 0 octets.
# Expected: iperf3(1), "-n: number of bytes to transmit". The client tells the server the end of the test when it has
# written all octets into its socket, and the server counts no further.
# A short transfer over a long path with losses has no result this way, and a script that reads the status sees none
# missing: read `sum_received.bytes`, and take `-t` with several seconds.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'kill ${pids:-} 2>/dev/null || :; rm -rf "$PWD"' EXIT
debian_tree iperf3=3.12-1+deb12u2
mkdir -p tree/dev tree/tmp
cp -a /dev/urandom tree/dev/
(exec chroot tree /usr/bin/iperf3 --server --bind 127.0.0.1 --port 47010 >server.log 2>&1) &
pids=$!
cat >proxy.py <<'PY'
import socket
import threading
import time

def carry(source, target, late_s):
    while octets := source.recv(1 << 16):
        time.sleep(late_s)
        late_s = 0
        try:
            target.sendall(octets)
        except OSError:
            return
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass

listening = socket.create_server(("127.0.0.1", 47011))
for late_s in (0, 2):
    near = listening.accept()[0]
    far = socket.create_connection(("127.0.0.1", 47010))
    # The data connection begins with iperf3's own 37 octets of a cookie, which are passed on at once.
    far.sendall(near.recv(37, socket.MSG_WAITALL))
    threading.Thread(target=carry, args=(near, far, late_s), daemon=True).start()
    threading.Thread(target=carry, args=(far, near, 0), daemon=True).start()
time.sleep(20)
PY
listens() { # a connection made to find out would be taken for a test
    for _ in $(seq 200); do
        [ -z "$(ss -Hltn "sport = $1")" ] || return 0
        sleep 0.1
    done
    echo "port $1: nobody listens"
    return 1
}
listens 47010
timeout 60 python3 proxy.py &
pids="$pids $!"
listens 47011
status=0
timeout 60 chroot tree /usr/bin/iperf3 --client 127.0.0.1 --port 47011 --bytes 60K --length 60K --json >seen.json || status=$?
seen=$(python3 -c 'import json
end = json.load(open("seen.json"))
print(end.get("error", "no error"), end["end"]["sum_sent"]["bytes"], end["end"]["sum_received"]["bytes"])')
echo "iperf3 3.12: status $status, $seen"
[ "$status $seen" = "0 no error 61440 0" ] || { echo "the behaviour has changed"; exit 1; }
