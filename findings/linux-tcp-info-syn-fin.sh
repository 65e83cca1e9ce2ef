#!/usr/bin/env bash
# Linux 6.1's TCP_INFO counts lost SYNs and FINs as retransmissions in one field and not in the other, and counts SYN
# and FIN as acknowledged octets.
#
# Valid use: connections of 1,000 octets, of which no data packet is lost. One loses its SYN once, one its FIN.
# Seen: tcpi_total_retrans is above 0 where tcpi_bytes_retrans is 0; tcpi_bytes_acked is 1001, and 1002 behind the FIN,
# where tcpi_bytes_sent is 1000.
# Expected: both count the same retransmissions; tcpi_bytes_acked (tcpEStatsAppHCThruOctetsAcked of RFC 4898) is at most
# tcpi_bytes_sent.
# It misleads those who take tcpi_total_retrans / tcpi_data_segs_out for the share of data sent again, or
# tcpi_bytes_sent - tcpi_bytes_retrans - tcpi_bytes_acked for the octets on their way, which may be -1 and -2.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import contextlib, socket, struct, subprocess, time

@contextlib.contextmanager
def all_lost():
    for verb in ("add", "del"):
        subprocess.run(["tc", "qdisc", verb, "dev", "lo", "root", "netem", "loss", "100%"], check=True)
        if verb == "add":
            yield

def show(name, connection):
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    (again,) = struct.unpack_from("<I", info, 100)
    (acked,) = struct.unpack_from("<Q", info, 120)
    sent, sent_again = struct.unpack_from("<QQ", info, 200)
    print(f"{name}: total_retrans {'above 0' if again else 0}, bytes_retrans {sent_again}, "
          f"bytes_sent {sent}, bytes_acked {acked}")

def settled(connection):
    time.sleep(8)  # longer than the time-outs of what was lost, and of what was lost again
    return connection

server = socket.create_server(("127.0.0.1", 0))
whole = socket.create_connection(server.getsockname())
whole.sendall(bytes(1000))
time.sleep(1)
show("nothing is lost", whole)

syn = socket.socket()
syn.setblocking(False)
with all_lost():
    syn.connect_ex(server.getsockname())
    time.sleep(0.5)
settled(syn).send(bytes(1000))
time.sleep(1)
show("the SYN is lost", syn)

with all_lost():
    whole.shutdown(socket.SHUT_WR)
    time.sleep(0.5)
show("the FIN is lost", settled(whole))
PY
in_linux program.py sch_netem.ko
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
nothing is lost: total_retrans 0, bytes_retrans 0, bytes_sent 1000, bytes_acked 1001
the SYN is lost: total_retrans above 0, bytes_retrans 0, bytes_sent 1000, bytes_acked 1001
the FIN is lost: total_retrans above 0, bytes_retrans 0, bytes_sent 1000, bytes_acked 1002
SEEN
