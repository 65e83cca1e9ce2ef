# title: wireguard-go
# needs: wireguard-go wg nginx curl
. "$(dirname "$0")/common.sh"
website
umask 077
for end in near far; do
    wg genkey >$end.key
    wg pubkey <$end.key >$end.pub
done
WG_PROCESS_FOREGROUND=1 serve wireguard-go -f wg-far
WG_PROCESS_FOREGROUND=1 here wireguard-go -f wg-near
sleep 1
ip netns exec rcv wg set wg-far listen-port 51820 private-key far.key peer "$(cat near.pub)" allowed-ips 10.99.0.1/32
wg set wg-near private-key near.key peer "$(cat far.pub)" allowed-ips 10.99.0.2/32 \
    endpoint "$(getent hosts rcv | cut -d' ' -f1):51820"
ip netns exec rcv ip address add 10.99.0.2/24 dev wg-far
ip netns exec rcv ip link set wg-far up
ip address add 10.99.0.1/24 dev wg-near
ip link set wg-near up
fetched http://10.99.0.2:8080/file
