/* The filter of wire packets to which impairments apply: loss, duplication, corruption, forgery, reordering and jitter.
 * Delay, rate and queue apply to all packets, because they share the line.
 *
 * Text: `all`, or terms separated by commas that must all match; `!` before a term negates it.
 *   tcp, udp               by transport
 *   syn, fin, rst          TCP with that flag
 *   data                   TCP or UDP with payload
 *   ack-only               TCP with ACK and without payload, SYN, FIN and RST
 *   sport=5001, dport=80   TCP or UDP with that port
 *   src=ADDR[/LEN], dst=ADDR[/LEN]       IPv4 or IPv6
 *   min-size=1000, max-size=100          bytes from the link header on, as captures count them
 *
 * A term about a field that the packet does not have matches neither plain nor negated. Later fragments, and packets
 * whose headers are cut off or inconsistent, do not have the fields of the transport header. If a negated term matched
 * there, `!dport=22` would apply to fragments of that very flow.
 * Rejected: BPF programs like tcpdump's filters. They see super-packets, not the wire packets that the box decides
 * about, and a control socket should not accept programs. */
#ifndef COMET_FILTER_H
#define COMET_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nc_error.h"
#include "nc_packet.h"

enum { FILTER_TERMS_MAX = 16, FILTER_TEXT_MAX = 1024 };

struct filter_term {
    uint8_t kind; /* row of the table of terms (filter.c) */
    bool negated;
    uint8_t ip_version, prefix_len; /* of src and dst */
    uint8_t address[16];            /* bits behind the prefix are 0 */
    uint32_t number;                /* port or size */
};

/* All zero: every packet matches. */
struct filter {
    unsigned n;
    struct filter_term terms[FILTER_TERMS_MAX];
};

/* One wire packet. For a part of a super-packet, `headers` are those of the super-packet; the other members belong to
 * the part. */
struct filter_packet {
    const struct nc_packet *headers;
    uint32_t l2_bytes, payload_bytes;
    uint16_t tcp_flags; /* nc_tcp_flag bits */
};

/* Fills *filter from text. Returns 0, or -1 with the error; *filter is then unchanged. */
int filter_parse(const char *text, struct filter *filter, struct nc_error *error);

/* Writes a text that parses to the same filter; FILTER_TEXT_MAX bytes are always enough. Returns buf. */
const char *filter_format(const struct filter *filter, char *buf, size_t size);

bool filter_matches(const struct filter *filter, const struct filter_packet *packet);

#endif
