#!/usr/bin/env bash
# kcptun 20210922 ends both ways of a connection when one of them ends, so the answer to a half-close is lost.
#
# Valid input: a client sends 1,000 octets and ends its way (shutdown). The server reads up to that end and answers.
# Seen: the client gets no octet of the answer and an ordinary end; directly the same client gets all of it.
# Expected: the answer (RFC 9293, 3.6: who has closed may go on receiving until the peer closes, too).
# Programs that answer at the end of the request cannot be carried, and their users see an empty answer and no error.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
cd "$(mktemp -d)"
trap 'kill ${pids:-} 2>/dev/null; rm -rf "$PWD"' EXIT
debian_tree kcptun=20210922+ds-1+b6
(exec chroot tree /usr/bin/kcptun-server --listen 127.0.0.1:47001 --target 127.0.0.1:47000 --key k --crypt none --nocomp >/dev/null 2>&1) &
pids=$!
(exec chroot tree /usr/bin/kcptun-client --remoteaddr 127.0.0.1:47001 --localaddr 127.0.0.1:47002 --key k --crypt none \
    --nocomp >/dev/null 2>&1) &
pids="$pids $!"
seen=$(timeout 60 python3 - <<'PY'
import socket
import threading
import time

listening = socket.create_server(("127.0.0.1", 47000))

def serve():
    for _ in range(2):
        peer = listening.accept()[0]
        with peer, peer.makefile("rb") as request:
            length = len(request.read())
            time.sleep(0.5)
            peer.sendall(b"x" * length)

def ask(port):
    for _ in range(100):
        try:
            peer = socket.create_connection(("127.0.0.1", port), timeout=20)
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    with peer:
        peer.sendall(bytes(1000))
        peer.shutdown(socket.SHUT_WR)
        with peer.makefile("rb") as answer:
            return len(answer.read())

threading.Thread(target=serve, daemon=True).start()
print("directly", ask(47000), "kcptun", ask(47002))
PY
)
echo "kcptun 20210922, octets of the answer: $seen"
[ "$seen" = "directly 1000 kcptun 0" ] || { echo "the behaviour has changed"; exit 1; }
