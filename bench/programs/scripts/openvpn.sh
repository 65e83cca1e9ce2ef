# title: OpenVPN
# needs: openvpn nginx curl
. "$(dirname "$0")/common.sh"
website
openvpn --genkey secret key >&2
common="--dev tun-vpn --dev-type tun --proto udp --port 1194 --secret key --cipher AES-256-CBC --verb 1"
openvpn --help | grep -q allow-deprecated-insecure-static-crypto \
    && common="$common --allow-deprecated-insecure-static-crypto"
serve openvpn $common --ifconfig 10.99.0.2 10.99.0.1
here openvpn $common --ifconfig 10.99.0.1 10.99.0.2 --remote rcv
for _ in $(seq 100); do
    ping -qc 1 -W 1 10.99.0.2 >/dev/null && break
done
fetched http://10.99.0.2:8080/file
