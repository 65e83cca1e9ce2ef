// `serve` echoes what comes; `send HOST` sends 2 MB, reads them back and says how long that took.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const port, size = ":7000", 2_000_000

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func serve() {
	listener, err := net.Listen("tcp", port)
	check(err)
	for {
		peer, err := listener.Accept()
		check(err)
		go func() {
			io.Copy(peer, peer)
			peer.Close()
		}()
	}
}

func send(host string) {
	began := time.Now()
	peer, err := net.Dial("tcp", host+port)
	check(err)
	go func() {
		peer.Write(make([]byte, size))
		peer.(*net.TCPConn).CloseWrite()
	}()
	came, err := io.Copy(io.Discard, peer)
	check(err)
	fmt.Printf("%d bytes in %v\n", came, time.Since(began))
}

func main() {
	if os.Args[1] == "serve" {
		serve()
	}
	send(os.Args[2])
}
