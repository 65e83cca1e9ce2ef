#!/usr/bin/env bash
# Linux 6.1 tells a program only once that its peer reset the connection; whoever asks next sees a clean end.
#
# Valid use: a peer sends ten octets and resets the connection (SO_LINGER of 0 s). The program then calls send(2),
# recv(2), recv(2), or reads SO_ERROR before recv(2), recv(2).
# Seen: ECONNRESET from the first call alone; recv(2) returns the ten octets and then 0, as after a FIN.
# Expected: an error where 0 means "the peer has performed an orderly shutdown" (recv(2)); POSIX describes ECONNRESET
# without such an exception.
# It misleads programs that copy both directions of a connection, such as relays and gateways: a write that fails takes
# the error, and the reader then takes a transfer that was cut off for a whole one.
set -euo pipefail
. "$(dirname "$0")/linux.sh"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
cat >program.py <<'PY'
import errno, signal, socket, struct, time

def reset_after_ten_octets():
    listener = socket.create_server(("127.0.0.1", 0))
    mine, (peer, _) = socket.create_connection(listener.getsockname()), listener.accept()
    peer.sendall(b"0123456789")
    time.sleep(0.1)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
    time.sleep(0.1)
    return mine

def seen(call, *arguments):
    try:
        result = call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return len(result) if isinstance(result, bytes) else errno.errorcode.get(result, result)

signal.signal(signal.SIGPIPE, signal.SIG_IGN)
one, two, three = (reset_after_ten_octets() for _ in range(3))
print("recv", [seen(one.recv, 99) for _ in range(3)])
print("send, recv", [seen(two.send, b"x"), seen(two.recv, 99), seen(two.recv, 99)])
error = seen(three.getsockopt, socket.SOL_SOCKET, socket.SO_ERROR)
print("SO_ERROR, recv", [error, seen(three.recv, 99), seen(three.recv, 99)])
PY
in_linux program.py
diff - seen <<'SEEN' || { echo "the behaviour has changed"; exit 1; }
recv [10, 'ECONNRESET', 0]
send, recv ['ECONNRESET', 10, 0]
SO_ERROR, recv ['ECONNRESET', 10, 0]
SEEN
