# Sourced by the other scripts. They run in the sending host of the network, as root of a guest.
set -eu
sources=$(dirname "$0")
servers=
cd "$(mktemp -d)"
trap 'status=$?; [ $status = 0 ] || cat log; kill $servers; exit $status' EXIT

# serve COMMAND...: runs a server in the receiving host until the script ends.
serve() {
    ip netns exec rcv "$@" >>log 2>&1 &
    servers="$servers $!"
}

# here COMMAND...: runs a server in the sending host until the script ends.
here() {
    "$@" >>log 2>&1 &
    servers="$servers $!"
}

# listening NODE PORT: waits until something listens there.
listening() {
    for _ in $(seq 300); do
        ip netns exec "$1" ss -Hlnt "sport = :$2" | grep -q . && return
        sleep 0.1
    done
    echo "nothing listens at port $2 of $1" >&2
    exit 1
}

# website: serves the file 'file', 2 MB, at port 8080 of the receiving host.
website() {
    head -c 2000000 /dev/urandom >file
    cat >nginx.conf <<'NGINX'
user root;
daemon off;
pid nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path temporary;
    proxy_temp_path temporary;
    fastcgi_temp_path temporary;
    uwsgi_temp_path temporary;
    scgi_temp_path temporary;
    server { listen 8080; root .; }
}
NGINX
    serve nginx -p "$PWD" -c nginx.conf -e stderr
    listening rcv 8080
}

# fetched URL: gets it, compares it with 'file', and says how long that took.
fetched() {
    curl -sS -o got -w '%{size_download} bytes in %{time_total} s\n' "$1"
    cmp file got
}
