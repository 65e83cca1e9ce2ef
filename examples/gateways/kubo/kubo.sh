#!/bin/sh
# kubo.sh near|far HOST FAR PORTS SCRATCH: one end of a pair of Kubo nodes that know each other alone. The far one leads
# each port to HOST, the receiver; the near one listens at HOST. The near one prints "ready".
set -eu
role=$1 host=$2 far=$3 ports=$4 scratch=$5
export IPFS_PATH="$scratch/$role" IPFS_TELEMETRY=off
if [ ! -e "$IPFS_PATH/config" ]; then
    ipfs init --empty-repo --profile=server >/dev/null
    ipfs bootstrap rm --all >/dev/null
    ipfs config --json Addresses.Swarm "[\"/ip4/0.0.0.0/udp/4001/quic-v1\"]"
    ipfs config Addresses.Gateway ""
    ipfs config --json Swarm.AddrFilters "[]"
    ipfs config --json Addresses.NoAnnounce "[]"
    ipfs config --json Experimental.Libp2pStreamMounting true
    ipfs config --json AutoTLS.Enabled false
    ipfs config --json Swarm.ResourceMgr.Enabled false
    ipfs config Routing.Type none
fi
rm -f "$IPFS_PATH/api" "$IPFS_PATH/repo.lock" "$IPFS_PATH/datastore/LOCK"
if [ "$role" = near ]; then
    until [ -s "$scratch/far.id" ]; do sleep 0.05; done
    peer=$(cat "$scratch/far.id")
    ipfs config --json Peering.Peers "[{\"ID\": \"$peer\", \"Addrs\": [\"/ip4/$far/udp/4001/quic-v1\"]}]"
else
    ipfs config Identity.PeerID >"$scratch/far.id"
fi
ipfs daemon --enable-gc=false >&2 &
until [ -s "$IPFS_PATH/api" ] && ipfs id >/dev/null 2>&1; do sleep 0.1; done
if [ "$role" = near ]; then
    until ipfs swarm connect "/ip4/$far/udp/4001/quic-v1/p2p/$peer" >&2; do sleep 0.2; done
    for port in $ports; do
        ipfs p2p forward --allow-custom-protocol "/lfp/$port" "/ip4/$host/tcp/$port" "/p2p/$peer"
    done
    echo ready
else
    for port in $ports; do
        ipfs p2p listen --allow-custom-protocol "/lfp/$port" "/ip4/$host/tcp/$port"
    done
fi
wait
