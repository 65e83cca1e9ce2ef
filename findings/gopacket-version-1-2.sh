#!/usr/bin/env bash
# gopacket v1.3.1 refuses pcapng files whose version is 1.2, which readers must take as 1.0.
#
# Valid input: a Section Header Block with version 1.2. Some programs have written that number, the format did not
# change with it, and the specification asks readers to treat it as 1.0 (pcapng, section 4.1, Minor Version).
# Seen: "Unknown pcapng Version in Section Header". tshark 4.0, tcpdump 4.99, dpkt 1.9.8 and scapy 2.6.1 read the file.
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

func open(minor uint16) error {
	var file bytes.Buffer
	for _, part := range []any{uint32(0x0A0D0D0A), uint32(28), uint32(0x1A2B3C4D), uint16(1), minor, int64(-1), uint32(28),
		uint32(1), uint32(20), uint16(1), uint16(0), uint32(0), uint32(20)} {
		binary.Write(&file, binary.LittleEndian, part)
	}
	_, err := pcapgo.NewNgReader(&file, pcapgo.DefaultNgReaderOptions)
	return err
}

func main() {
	fmt.Println("gopacket v1.3.1, version 1.0:", open(0), "version 1.2:", open(2))
	if open(0) != nil || open(2) == nil {
		fmt.Println("the behaviour has changed")
		os.Exit(1)
	}
}
GO
printf 'module finding\ngo 1.20\nrequire github.com/gopacket/gopacket v1.3.1\n' > go.mod
go mod tidy 2>/dev/null
go run .
