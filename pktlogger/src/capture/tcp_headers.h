/* The end of a BPF program that keeps the headers of a TCP packet and none of its data. pcap-filter(7) has no
 * expression for how much of a packet is kept. Copying payload is costly: nobody has read it yet, so it comes from
 * memory and not from the cache. */
#ifndef PL_TCP_HEADERS_H
#define PL_TCP_HEADERS_H

#include <pcap/pcap.h>
#include <stdint.h>

enum {
    PL_TCP_HEADERS_N = 28,                  /* instructions */
    PL_TCP_HEADERS_BYTES_MAX = 14 + 40 + 60 /* Ethernet, IPv6, TCP with all options */
};

/* Writes PL_TCP_HEADERS_N instructions for Ethernet frames. They keep the headers of a packet in which TCP directly
 * follows an IPv6 header, or an IPv4 header without options. Of a later IPv4 fragment of a TCP packet they keep the IP
 * header; of any other packet, `other_bytes`. */
void pl_tcp_headers(uint32_t other_bytes, struct bpf_insn *to);

#endif
