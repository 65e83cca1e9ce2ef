/* Bounds-checked decoding of Ethernet and the other links of nc_link.h, VLAN tags (802.1Q, 802.1ad, 0x9100), IPv4 with
 * options, IPv6 with extension headers, TCP with options, UDP and ESP. The decoder takes cursor and end, never reads
 * beyond the end, and copies the fields into a host struct. A capture may contain only a part of the packet, so lengths
 * come from the headers. A truncated header ends the decoding at the layer before it, with NC_TRUNCATED. A header that
 * contradicts the lengths around it ends the decoding with NC_MALFORMED.
 * Sources: RFC 791, 8200, 9293, 7323, 2018, 3168, 9768, 768, 4303; IEEE 802.1Q. */
#ifndef NC_PACKET_H
#define NC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_link.h"

/* The ECN field of IP (RFC 3168, 5). */
enum nc_ecn { NC_NOT_ECT, NC_ECT1, NC_ECT0, NC_CE };

enum nc_l4 { NC_L4_NONE, NC_L4_TCP, NC_L4_UDP, NC_L4_ESP, NC_L4_OTHER, NC_L4_N };

enum nc_tcp_flag {
    NC_TCP_FIN = 0x001,
    NC_TCP_SYN = 0x002,
    NC_TCP_RST = 0x004,
    NC_TCP_PSH = 0x008,
    NC_TCP_ACK = 0x010,
    NC_TCP_URG = 0x020,
    NC_TCP_ECE = 0x040,
    NC_TCP_CWR = 0x080,
    NC_TCP_AE = 0x100,
};

/* AE, CWR and ECE as one number: the counter ACE of AccECN (RFC 9768), ECE = 1. */
#define NC_TCP_ACE(flags) ((uint8_t)((flags) >> 6 & 7))

/* Which counters an AccECN option has (RFC 9768, 3.2.3). */
enum nc_accecn { NC_ACCECN_EE0B = 1, NC_ACCECN_ECEB = 2, NC_ACCECN_EE1B = 4 };

#define NC_SACK_MAX 4
struct nc_sack {
    uint32_t left, right;
};

struct nc_tcp {
    uint32_t seq, ack;
    uint16_t flags;  /* nc_tcp_flag bits */
    uint16_t window; /* as on the wire, not scaled */
    bool has_mss, has_wscale, has_timestamps, sack_permitted;
    uint16_t mss;
    uint8_t wscale; /* as sent; RFC 7323 caps its use at 14 */
    uint32_t tsval, tsecr;
    uint8_t sack_n;
    struct nc_sack sack[NC_SACK_MAX];
    uint8_t options_len;       /* length in the header, even if less was captured */
    bool cut;                  /* the capture ends within the options; the complete ones were read */
    bool has_accecn;           /* the option, perhaps without counters */
    uint8_t accecn;            /* nc_accecn bits */
    uint32_t ee0b, eceb, ee1b; /* counters of octets that arrived as ECT(0), CE and ECT(1), modulo 2^24 */
};

#define NC_VLAN_MAX 8

struct nc_packet {
    uint32_t if_index;          /* of SLL2's header; 0: not known */
    uint16_t ether_type;        /* of the innermost header, host order; 0 on links that have no such type */
    uint16_t vlan[NC_VLAN_MAX]; /* tag control information, outermost first */
    uint8_t vlan_n;
    uint8_t ip_version; /* 4, 6, or 0: not IP */
    uint8_t ip_proto;   /* after IPv6 extension headers */
    uint8_t ttl;
    uint8_t ecn;    /* enum nc_ecn */
    bool fragment;  /* part of a fragmented datagram; later fragments have l4 NC_L4_NONE */
    uint32_t ip_id; /* IPv4: 16 bits; IPv6: of the fragment header, or 0 */
    uint8_t src[16],
        dst[16]; /* IPv4 in the first 4 bytes, the rest zero; with a routing header the final destination */
    enum nc_l4 l4;
    uint16_t src_port, dst_port;
    uint32_t esp_spi, esp_seq;
    struct nc_tcp tcp; /* valid when l4 is NC_L4_TCP */
    /* Offsets from the start of the frame; 0 when that layer was not reached. l3_offset is where the network layer
     * begins, whatever its protocol, so it is the length of the link header. */
    uint32_t l3_offset, l4_offset, payload_offset;
    /* Payload bytes after the innermost decoded header, by the lengths in the headers: without padding, but with bytes
     * that the capture cut off. If the headers have no length, `wire` decides: in a super-packet (RFC 2675 jumbogram,
     * with an IPv4 total length or IPv6 payload length of 0) and in other protocols. */
    uint32_t payload_len;
};

/* Decodes the frame at [frame, frame + captured), which had `wire` bytes on the wire (or `captured`, if that is more).
 * *out is set up to the last good layer. TCP options after an impossible one are not read, and the packet still counts
 * as decoded. If a capture ends within the options, the result is NC_TRUNCATED, but the layer is set, with tcp.cut;
 * payload_offset is then the end of the capture, and payload_len comes from the headers. In a fragment the lengths
 * above IP are not checked. */
enum nc_decoded nc_packet_decode(enum nc_link link, const uint8_t *frame, size_t captured, size_t wire,
                                 struct nc_packet *out);

/* The 16-bit one's complement sum, for building headers (RFC 1071). nc_csum_add returns a running sum that is not
 * folded yet; only the last piece of a sum may have an odd length. */
uint64_t nc_csum_add(uint64_t sum, const uint8_t *data, size_t len);
uint16_t nc_csum_fold(uint64_t sum); /* folded and complemented, bytes as stored: memcpy */

#endif
