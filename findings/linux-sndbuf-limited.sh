#!/usr/bin/env bash
# tcpi_sndbuf_limited of Linux 6.1 stays 0 for a sender that its send buffer limits, if the program writes large blocks.
#
# Valid use: one connection over loopback, MTU 1500, RTT 100 ms by netem; SO_SNDBUF of 65,536 octets; a program that
# writes blocks of 1 MB for 5 s and blocks in send().
# Seen: tcpi_busy_time is the whole transfer. The receiver's window limits less than a tenth of it, by
# tcpi_rwnd_limited, and the final congestion window is more than twice the average flight. tcpi_sndbuf_limited is 0,
# so the counters leave the congestion window as the cause.
# Expected: linux/tcp.h says "Time (usec) limited by send buffer"; with more in the buffer the flight would have
# followed the congestion window.
# It misleads those who read from TCP_INFO (ss -i shows the same counters) what limits a transfer over a long path: the
# cure, a larger send buffer, is the one cause that the counters exclude. What is queued and not sent (SIOCOUTQNSD,
# tcpi_notsent_bytes) shows it.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import socket, struct, subprocess, threading, time

RTT_S = 0.1
subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "50ms", "limit", "100000"], check=True)
listening = socket.create_server(("127.0.0.1", 0))
sender = socket.socket()
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
sender.connect(listening.getsockname())
receiver = listening.accept()[0]

def read():
    while receiver.recv(1 << 20):
        pass

threading.Thread(target=read, daemon=True).start()
block, sent, began = bytes(1 << 20), 0, time.monotonic()
while time.monotonic() < began + 5:
    sent += sender.send(block)
info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
took_us = (time.monotonic() - began) * 1e6
mss, cwnd = struct.unpack("I", info[16:20])[0], struct.unpack("I", info[80:84])[0]
busy_us, rwnd_us, sndbuf_us = struct.unpack("3Q", info[168:192])
print("busy", "all the time" if busy_us > 0.9 * took_us else busy_us)
print("limited by the receiver's window", "less than a tenth" if rwnd_us < 0.1 * busy_us else rwnd_us)
print("cwnd", "above" if cwnd * mss > 2 * sent / took_us * 1e6 * RTT_S else "below", "twice the flight")
print("limited by the send buffer", sndbuf_us)
PY
in_linux program.py sch_netem.ko
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
busy all the time
limited by the receiver's window less than a tenth
cwnd above twice the flight
limited by the send buffer 0
SEEN
