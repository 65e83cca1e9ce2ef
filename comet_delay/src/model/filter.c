/* A table row for each kind of term. Transport terms are sets of classes, so that terms which exclude each other are
 * found where the text is read. */
#include "filter.h"

#include <arpa/inet.h>
#include <net/ethernet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_text.h"

/* A TCP or UDP packet is of exactly one class, any other of none. */
enum {
    TCP_DATA = 1,   /* with payload */
    TCP_ACK = 2,    /* without, and ACK alone */
    TCP_OTHER = 4,  /* without, and SYN, FIN or RST, or no ACK */
    UDP_DATA = 8,   /* with payload */
    UDP_EMPTY = 16, /* without */
    TCP = TCP_DATA | TCP_ACK | TCP_OTHER,
    UDP = UDP_DATA | UDP_EMPTY,
};

enum kind { TRANSPORT, FLAG, SPORT, DPORT, SRC, DST, MIN_SIZE, MAX_SIZE };

static const struct term {
    const char *name; /* ends in = where a value follows */
    enum kind kind;
    uint8_t classes; /* of the packets that it can match; 0: any packet */
    uint16_t flag;
    uint32_t low, high; /* what the number may be */
} terms[] = {
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
enum { KINDS = sizeof terms / sizeof terms[0] };

static const char names[] = "tcp, udp, syn, fin, rst, data, ack-only, sport=, dport=, src=, dst=, min-size=, max-size=";

static bool takes_value(const struct term *term)
{
    return term->kind >= SPORT;
}

static bool takes_address(const struct term *term)
{
    return term->kind == SRC || term->kind == DST;
}

/* Clears the bits behind the prefix, so that one network has one form. */
static void mask(struct filter_term *term)
{
    for (unsigned bit = term->prefix_len; bit < 128; bit++)
        term->address[bit / 8] &= (uint8_t)~(0x80u >> (bit % 8));
}

/* ADDR or ADDR/LEN. */
static int parse_address(const char *item, const char *text, struct filter_term *term, struct nc_error *error)
{
    char address[MODEL_ITEM_MAX];
    size_t len = strcspn(text, "/");
    snprintf(address, sizeof address, "%.*s", (int)len, text);
    term->ip_version = strchr(address, ':') ? 6 : 4;
    uint64_t bits = term->ip_version == 6 ? 128 : 32, prefix_len = bits;
    if (inet_pton(term->ip_version == 6 ? AF_INET6 : AF_INET, address, term->address) != 1)
        return nc_fail(error, NC_EXIT_USAGE, "'%s': want an address, such as 10.0.0.2, 10.1.0.0/16 or 2001:db8::/32",
                       item);
    if (text[len] && (!model_integer(text + len + 1, &prefix_len) || prefix_len > bits))
        return nc_fail(error, NC_EXIT_USAGE, "'%s': want a prefix length of 0 to %u behind the /", item,
                       (unsigned)bits);
    term->prefix_len = (uint8_t)prefix_len;
    mask(term);
    return 0;
}

static int parse_term(const char *item, struct filter_term *term, struct nc_error *error)
{
    *term = (struct filter_term){.negated = item[0] == '!'};
    const char *text = item + term->negated;
    for (; term->kind < KINDS; term->kind++) {
        const struct term *row = &terms[term->kind];
        size_t len = strlen(row->name);
        if (takes_value(row) ? strncmp(text, row->name, len) != 0 : strcmp(text, row->name) != 0)
            continue;
        if (takes_address(row))
            return parse_address(item, text + len, term, error);
        uint64_t number = 0;
        if (takes_value(row) && (!model_integer(text + len, &number) || number < row->low || number > row->high))
            return nc_fail(error, NC_EXIT_USAGE, "'%s': want a whole number of %u to %u", item, row->low, row->high);
        term->number = (uint32_t)number;
        return 0;
    }
    return nc_fail(error, NC_EXIT_USAGE,
                   "'%s': no such term; want all, or terms between commas, each one of %s (with "
                   "! in front: all but these)",
                   item, names);
}

static bool is_twice(const struct filter *filter, const struct filter_term *term)
{
    for (const struct filter_term *t = filter->terms; t < term; t++)
        if (t->kind == term->kind && !t->negated)
            return takes_value(&terms[t->kind]);
    return false;
}

/* Terms that no packet fulfils together are a mistake: whoever writes tcp,udp means either. */
static int check_together(const char *text, const struct filter *filter, struct nc_error *error)
{
    unsigned classes = TCP | UDP, versions = 1u << 4 | 1u << 6;
    uint32_t low = 0, high = UINT32_MAX;
    for (const struct filter_term *t = filter->terms; t < filter->terms + filter->n; t++) {
        const struct term *row = &terms[t->kind];
        if (t->negated)
            continue;
        if (is_twice(filter, t))
            return nc_fail(error, NC_EXIT_USAGE, "'%.80s': all terms must hold; give %s once", text, row->name);
        classes &= row->classes ? row->classes : classes;
        versions &= takes_address(row) ? 1u << t->ip_version : versions;
        low = row->kind == MIN_SIZE ? t->number : low;
        high = row->kind == MAX_SIZE ? t->number : high;
    }
    const char *what = !classes ? "kinds of packet" : !versions ? "addresses of IPv4 and IPv6" : "sizes";
    if (!classes || !versions || low > high)
        return nc_fail(error, NC_EXIT_USAGE, "'%.80s': all terms must hold; leave out the %s that exclude each other",
                       text, what);
    return 0;
}

int filter_parse(const char *text, struct filter *filter, struct nc_error *error)
{
    struct filter parsed = {0};
    char item[MODEL_ITEM_MAX];
    const char *rest = strcmp(text, "all") == 0 ? NULL : text;
    while (rest) {
        if (parsed.n == FILTER_TERMS_MAX)
            return nc_fail(error, NC_EXIT_USAGE, "'%.40s…': more than %d terms", text, FILTER_TERMS_MAX);
        if (!model_item(&rest, item))
            return nc_fail(error, NC_EXIT_USAGE, "'%.20s…': longer than any term", rest);
        if (parse_term(item, &parsed.terms[parsed.n], error) < 0)
            return -1;
        parsed.n++;
    }
    if (check_together(text, &parsed, error) < 0)
        return -1;
    *filter = parsed;
    return 0;
}

const char *filter_format(const struct filter *filter, char *buf, size_t size)
{
    snprintf(buf, size, "%s", filter->n ? "" : "all");
    for (const struct filter_term *t = filter->terms; t < filter->terms + filter->n; t++) {
        const struct term *row = &terms[t->kind];
        model_append(buf, size, "%s%s%s", t == filter->terms ? "" : ",", t->negated ? "!" : "", row->name);
        if (takes_address(row)) {
            char address[INET6_ADDRSTRLEN];
            inet_ntop(t->ip_version == 6 ? AF_INET6 : AF_INET, t->address, address, sizeof address);
            model_append(buf, size, "%s", address);
            if (t->prefix_len < (t->ip_version == 6 ? 128 : 32))
                model_append(buf, size, "/%u", t->prefix_len);
        } else if (takes_value(row)) {
            model_append(buf, size, "%u", t->number);
        }
    }
    return buf;
}

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

/* Whether the packet shows what the term asks for. */
static bool is_known(const struct term *row, const struct nc_packet *headers)
{
    bool is_ip = headers->ether_type == ETHERTYPE_IP || headers->ether_type == ETHERTYPE_IPV6;
    if (row->classes)
        return !is_ip || headers->l4 != NC_L4_NONE;
    return !takes_address(row) || !is_ip || headers->ip_version;
}

static bool holds(const struct filter_term *term, const struct filter_packet *packet, unsigned class)
{
    const struct term *row = &terms[term->kind];
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
        if (!is_known(&terms[t->kind], packet->headers) || holds(t, packet, class) == t->negated)
            return false;
    return true;
}
