#include "filter_terms.h"

#include <net/ethernet.h>
#include <string.h>

const struct filter_row filter_rows[FILTER_KINDS] = {
    {.name = "tcp", .kind = TRANSPORT, .classes = TCP},
    {.name = "udp", .kind = TRANSPORT, .classes = UDP},
    {.name = "syn", .kind = FLAG, .classes = TCP_DATA | TCP_OTHER, .flag = NC_TCP_SYN},
    {.name = "fin", .kind = FLAG, .classes = TCP_DATA | TCP_OTHER, .flag = NC_TCP_FIN},
    {.name = "rst", .kind = FLAG, .classes = TCP_DATA | TCP_OTHER, .flag = NC_TCP_RST},
    {.name = "data", .kind = TRANSPORT, .classes = TCP_DATA | UDP_DATA},
    {.name = "ack-only", .kind = TRANSPORT, .classes = TCP_ACK},
    {.name = "sport=", .kind = SPORT, .classes = TCP | UDP, .low = 1, .high = UINT16_MAX},
    {.name = "dport=", .kind = DPORT, .classes = TCP | UDP, .low = 1, .high = UINT16_MAX},
    {.name = "src=", .kind = SRC},
    {.name = "dst=", .kind = DST},
    {.name = "min-size=", .kind = MIN_SIZE, .low = 1, .high = UINT16_MAX},
    {.name = "max-size=", .kind = MAX_SIZE, .low = 1, .high = UINT16_MAX},
};

static unsigned class_of(const struct filter_packet *packet)
{
    const uint16_t others = NC_TCP_SYN | NC_TCP_FIN | NC_TCP_RST;
    if (packet->headers->l4 == NC_L4_UDP)
        return packet->payload_bytes ? UDP_DATA : UDP_EMPTY;
    if (packet->headers->l4 != NC_L4_TCP)
        return 0;
    if (packet->payload_bytes)
        return TCP_DATA;
    return (packet->tcp_flags & NC_TCP_ACK) && !(packet->tcp_flags & others) ? TCP_ACK : TCP_OTHER;
}

static bool in_network(const uint8_t *address, const struct filter_term *term)
{
    unsigned whole = term->prefix_len / 8, rest = term->prefix_len % 8;
    if (memcmp(address, term->address, whole) != 0)
        return false;
    return rest == 0 || ((address[whole] ^ term->address[whole]) & (uint8_t)(0xff00u >> rest)) == 0;
}

/* Whether the packet matches the term. */
static bool is_known(const struct filter_row *row, const struct nc_packet *headers)
{
    bool is_ip = headers->ether_type == ETHERTYPE_IP || headers->ether_type == ETHERTYPE_IPV6;
    if (row->classes)
        return !is_ip || headers->l4 != NC_L4_NONE;
    return !filter_takes_address(row) || !is_ip || headers->ip_version;
}

static bool holds(const struct filter_term *term, const struct filter_packet *packet, unsigned class)
{
    const struct filter_row *row = &filter_rows[term->kind];
    const struct nc_packet *headers = packet->headers;
    switch (row->kind) {
    case TRANSPORT:
        return row->classes & class;
    case FLAG:
        return (row->classes & class) && (packet->tcp_flags & row->flag);
    case SPORT:
        return class && headers->src_port == term->number;
    case DPORT:
        return class && headers->dst_port == term->number;
    case SRC:
        return headers->ip_version == term->ip_version && in_network(headers->src, term);
    case DST:
        return headers->ip_version == term->ip_version && in_network(headers->dst, term);
    case MIN_SIZE:
        return packet->l2_bytes >= term->number;
    case MAX_SIZE:
        return packet->l2_bytes <= term->number;
    }
    return false;
}

bool filter_matches(const struct filter *filter, const struct filter_packet *packet)
{
    unsigned class = class_of(packet);
    for (const struct filter_term *t = filter->terms; t < filter->terms + filter->n; t++)
        if (!is_known(&filter_rows[t->kind], packet->headers) || holds(t, packet, class) == t->negated)
            return false;
    return true;
}
