#!/usr/bin/env bash
# gopacket v1.3.1 reads pcapng times with a resolution of a power of two up to 0.7 ms early.
#
# Valid input: if_tsresol 0x94, which is 2^-20 s (pcapng, section 4.2), and a packet at 1,700,000,000.5 s.
# Seen: 1700000000.499646464. Expected: 1700000000.500000000, as tshark, tcpdump and dpkt give it.
# 2^-20 s are 953.67 ns; gopacket counts 953 for each tick of the second's fraction. So packets of one second seem
# nearer to each other than they are, and those at the border of two seconds up to 0.7 ms further apart.
set -euo pipefail
cd "$(mktemp -d)"
trap 'chmod -R u+w "$PWD"; rm -rf "$PWD"' EXIT
export GOPATH=$PWD/go GOCACHE=$PWD/cache GOFLAGS=-mod=mod
cat > main.go <<'GO'
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/gopacket/gopacket/pcapgo"
)

func block(kind uint32, body ...any) []byte {
	var b, whole bytes.Buffer
	for _, part := range body {
		binary.Write(&b, binary.LittleEndian, part)
	}
	n := uint32(b.Len() + 12)
	binary.Write(&whole, binary.LittleEndian, []uint32{kind, n})
	whole.Write(b.Bytes())
	binary.Write(&whole, binary.LittleEndian, n)
	return whole.Bytes()
}

func main() {
	ticks := uint64(1700000000)<<20 | 1<<19
	file := block(0x0A0D0D0A, uint32(0x1A2B3C4D), uint16(1), uint16(0), int64(-1))
	file = append(file, block(1, uint16(1), uint16(0), uint32(0), uint16(9), uint16(1), [4]byte{0x94}, uint32(0))...)
	file = append(file, block(6, uint32(0), uint32(ticks>>32), uint32(ticks), uint32(60), uint32(60), [60]byte{})...)
	reader, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		panic(err)
	}
	_, info, err := reader.ReadPacketData()
	fmt.Println("gopacket v1.3.1", info.Timestamp.UnixNano(), err)
	if err != nil || info.Timestamp.UnixNano() != 1700000000499646464 {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
printf 'module finding\ngo 1.20\nrequire github.com/gopacket/gopacket v1.3.1\n' > go.mod
go mod tidy 2>/dev/null
go run .
