/* The filter: each term on packets written by hand, plain and negated; texts that survive parsing and formatting;
 * mistakes. */
#include "filter.h"

#include "netcommon/frame_bytes.h"

enum { FIRST_PART = 0x2000, LATER_PART = 0x00b9 };

/* 10.1.2.3 port 5001 to 10.4.5.6 port 5010, or fd00::1 to fd00::2 with the same ports. */
static struct bytes frame_of(int ip_version, uint8_t proto, uint16_t ip_payload)
{
    struct bytes frame = ethernet(ip_version == 6 ? 0x86dd : 0x0800);
    if (ip_version == 6)
        add_ipv6(&frame, ip_payload, proto);
    else
        add_ipv4(&frame, 20 + ip_payload, proto);
    return frame;
}

static struct bytes tcp(int ip_version, uint16_t flags, uint16_t payload)
{
    struct bytes frame = frame_of(ip_version, 6, 20 + payload);
    add_tcp(&frame, 5, flags);
    frame.len += payload;
    while (frame.len < 60) /* Ethernet's padding is no payload */
        ADD(&frame, 0);
    return frame;
}

static struct bytes udp(int ip_version, uint16_t payload)
{
    struct bytes frame = frame_of(ip_version, 17, 8 + payload);
    ADD(&frame, 0x13, 0x89, 0x13, 0x92, 0, (uint8_t)(8 + payload), 0, 0);
    frame.len += payload;
    return frame;
}

static struct bytes fragment(uint16_t field)
{
    struct bytes frame = tcp(4, NC_TCP_ACK, 80);
    frame.at[20] = (uint8_t)(field >> 8), frame.at[21] = (uint8_t)field;
    return frame;
}

static struct bytes cut(struct bytes frame, size_t len)
{
    frame.len = len;
    return frame;
}

static struct bytes icmp(void)
{
    struct bytes frame = frame_of(4, 1, 8);
    ADD(&frame, 8, 0, 0, 0, 0, 0, 0, 0);
    return frame;
}

static struct bytes arp(void)
{
    struct bytes frame = ethernet(0x0806);
    frame.len += 28;
    return frame;
}

static struct sample {
    const char *name;
    struct bytes frame;
} samples[20];
static size_t samples_n;

static void sample(const char *name, struct bytes frame)
{
    samples[samples_n++] = (struct sample){name, frame};
}

static void make_samples(void)
{
    sample("data4", tcp(4, NC_TCP_ACK | NC_TCP_PSH, 100)); /* 154 bytes */
    sample("data6", tcp(6, NC_TCP_ACK, 1000));             /* 1074 */
    sample("ack4", tcp(4, NC_TCP_ACK, 0));                 /* 60 */
    sample("ack6", tcp(6, NC_TCP_ACK | NC_TCP_ECE, 0));    /* 74 */
    sample("syn4", tcp(4, NC_TCP_SYN, 0));
    sample("synack6", tcp(6, NC_TCP_SYN | NC_TCP_ACK, 0));
    sample("fin4", tcp(4, NC_TCP_FIN | NC_TCP_ACK, 0));
    sample("findata4", tcp(4, NC_TCP_FIN | NC_TCP_ACK, 50)); /* 104 */
    sample("rst4", tcp(4, NC_TCP_RST | NC_TCP_ACK, 0));
    sample("udp4", udp(4, 200)); /* 242 */
    sample("udp6", udp(6, 0));   /* 62 */
    sample("icmp4", icmp());     /* 42 */
    sample("arp", arp());        /* 42 */
    sample("first4", fragment(FIRST_PART));
    sample("short4", cut(frame_of(4, 6, 10), 44));         /* no room for a TCP header */
    sample("later4", fragment(LATER_PART));                /* 134 */
    sample("cut6", cut(tcp(6, NC_TCP_ACK, 1000), 70));     /* its header says that more fragments follow */
    sample("cut4", cut(tcp(4, NC_TCP_ACK, 1000), 14 + 7)); /* not even addresses */
}

static bool among(const char *names, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = names; (at = strstr(at, name)) != NULL; at += len)
        if ((at == names || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static struct filter filter_of(const char *text)
{
    struct filter filter;
    struct nc_error error;
    CHECK_DONE(filter_parse(text, &filter, &error), text, error);
    return filter;
}

static bool matches(const char *text, const struct bytes *frame)
{
    struct filter filter = filter_of(text);
    struct nc_packet headers;
    uint8_t *exact = malloc(frame->len); /* so that a sanitizer sees a read beyond its end */
    CHECK(exact);
    memcpy(exact, frame->at, frame->len);
    nc_packet_decode(NC_LINK_ETHERNET, exact, frame->len, frame->len, &headers);
    free(exact);
    const struct filter_packet packet = {&headers, (uint32_t)frame->len, headers.payload_len, headers.tcp.flags};
    return filter_matches(&filter, &packet);
}

/* Checks that exactly these samples match the text. */
static void only_these(const char *text, const char *names)
{
    for (const struct sample *s = samples; s < samples + samples_n; s++)
        if (matches(text, &s->frame) != among(names, s->name)) {
            fprintf(stderr, "'%s' on %s: want the other\n", text, s->name);
            exit(1);
        }
}

static const char transport_unknown[] = "later4 short4 cut6 cut4", address_unknown[] = "cut6 cut4";

static const char every_tcp[] = "data4 data6 ack4 ack6 syn4 synack6 fin4 findata4 rst4 first4";
static const char with_ports[] = "data4 data6 ack4 ack6 syn4 synack6 fin4 findata4 rst4 first4 udp4 udp6";
static const char every_v4[] = "data4 ack4 syn4 fin4 findata4 rst4 udp4 icmp4 first4 later4 short4";

static void each_term_chooses_its_packets_and_its_negation_the_others(void)
{
    static const struct {
        const char *term, *chosen, *unknown;
    } rows[] = {
        {"tcp", every_tcp, transport_unknown},
        {"udp", "udp4 udp6", transport_unknown},
        {"syn", "syn4 synack6", transport_unknown},
        {"fin", "fin4 findata4", transport_unknown},
        {"rst", "rst4", transport_unknown},
        {"data", "data4 data6 findata4 udp4 first4", transport_unknown},
        {"ack-only", "ack4 ack6", transport_unknown},
        {"sport=5001", with_ports, transport_unknown},
        {"sport=5010", "", transport_unknown},
        {"dport=5010", with_ports, transport_unknown},
        {"dport=5001", "", transport_unknown},
        {"src=10.1.2.3", every_v4, address_unknown},
        {"src=10.1.2.2", "", address_unknown},
        {"src=10.1.2.2/31", every_v4, address_unknown},
        {"src=10.4.5.6", "", address_unknown},
        {"dst=10.4.0.0/13", every_v4, address_unknown},
        {"dst=10.8.0.0/13", "", address_unknown},
        {"src=0.0.0.0/0", every_v4, address_unknown},
        {"src=fd00::1", "data6 ack6 synack6 udp6", address_unknown},
        {"dst=fd00::2/127", "data6 ack6 synack6 udp6", address_unknown},
        {"dst=fd00::1", "", address_unknown},
        {"min-size=154", "data4 data6 udp4", ""},
        {"min-size=155", "data6 udp4", ""},
        {"max-size=60", "ack4 syn4 fin4 rst4 icmp4 arp short4 cut4", ""},
        {"max-size=59", "icmp4 arp short4 cut4", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char negated[100], others[400] = "";
        only_these(rows[i].term, rows[i].chosen);
        for (const struct sample *s = samples; s < samples + samples_n; s++)
            if (!among(rows[i].chosen, s->name) && !among(rows[i].unknown, s->name))
                snprintf(others + strlen(others), sizeof others - strlen(others), "%s ", s->name);
        snprintf(negated, sizeof negated, "!%s", rows[i].term);
        only_these(negated, others);
    }
}

static void all_terms_must_hold(void)
{
    only_these("tcp,data", "data4 data6 findata4 first4");
    only_these("data,!fin,src=10.0.0.0/8,max-size=200,min-size=100", "data4 first4");
    only_these("!tcp,!udp", "icmp4 arp");
    only_these("!src=10.0.0.0/8,!src=fd00::/8", "arp");
    only_these("!dport=5010,!ack-only", "icmp4 arp");
    only_these("syn,!src=10.0.0.0/8", "synack6");
    for (const struct sample *s = samples; s < samples + samples_n; s++)
        CHECK(matches("all", &s->frame));
}

static void round_trip(const char *text, const char *want)
{
    char once[FILTER_TEXT_MAX], twice[FILTER_TEXT_MAX];
    struct filter filter = filter_of(text);
    CHECK_STR(filter_format(&filter, once, sizeof once), want);
    filter = filter_of(once);
    CHECK_STR(filter_format(&filter, twice, sizeof twice), once);
}

static void texts_come_back_in_one_form(void)
{
    round_trip("all", "all");
    round_trip("data", "data");
    round_trip("!ack-only,!dport=22", "!ack-only,!dport=22");
    round_trip("src=10.1.2.3/16,dst=10.0.0.2/32", "src=10.1.0.0/16,dst=10.0.0.2");
    round_trip("src=2001:DB8:0:0::1/33", "src=2001:db8::/33");
    round_trip("tcp,syn,!fin,!rst,sport=00080,min-size=100,max-size=100",
               "tcp,syn,!fin,!rst,sport=80,min-size=100,max-size=100");
    round_trip("!dport=1,!dport=2,!dport=3,!dport=4,!dport=5,!dport=6,!dport=7,!dport=8,!dport=9,!dport=10,!dport=11,"
               "!dport=12,!dport=13,!dport=14,!dport=15,!dport=16",
               "!dport=1,!dport=2,!dport=3,!dport=4,!dport=5,!dport=6,!dport=7,!dport=8,!dport=9,!dport=10,!dport=11,"
               "!dport=12,!dport=13,!dport=14,!dport=15,!dport=16");
}

#define NO_SUCH                                                                                                        \
    "no such term; want all, or terms between commas, each one of tcp, udp, syn, fin, rst, data, ack-only, sport=, "   \
    "dport=, src=, dst=, min-size=, max-size= (with ! in front: all but these)"
#define EXCLUDE(text, what) "'" text "': all terms must hold; leave out the " what " that exclude each other"

static void mistakes_are_named_in_one_line(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'': " NO_SUCH},
        {"tpc", "'tpc': " NO_SUCH},
        {"tcp,", "'': " NO_SUCH},
        {"TCP", "'TCP': " NO_SUCH},
        {"!!tcp", "'!!tcp': " NO_SUCH},
        {"all,tcp", "'all': " NO_SUCH},
        {"tcp=1", "'tcp=1': " NO_SUCH},
        {"dport", "'dport': " NO_SUCH},
        {"t\np", "'t?p': " NO_SUCH},
        {"dport=", "'dport=': want a whole number of 1 to 65535"},
        {"dport=http", "'dport=http': want a whole number of 1 to 65535"},
        {"!sport=65536", "'!sport=65536': want a whole number of 1 to 65535"},
        {"max-size=0", "'max-size=0': want a whole number of 1 to 65535"},
        {"src=host", "'src=host': want an address, such as 10.0.0.2, 10.1.0.0/16 or 2001:db8::/32"},
        {"src=10.0.0", "'src=10.0.0': want an address, such as 10.0.0.2, 10.1.0.0/16 or 2001:db8::/32"},
        {"dst=10.0.0.0/33", "'dst=10.0.0.0/33': want a prefix length of 0 to 32 behind the /"},
        {"dst=::1/", "'dst=::1/': want a prefix length of 0 to 128 behind the /"},
        {"dport=1,dport=2", "'dport=1,dport=2': all terms must hold; give dport= once"},
        {"tcp,udp", EXCLUDE("tcp,udp", "kinds of packet")},
        {"data,ack-only", EXCLUDE("data,ack-only", "kinds of packet")},
        {"udp,syn", EXCLUDE("udp,syn", "kinds of packet")},
        {"src=10.0.0.1,dst=::1", EXCLUDE("src=10.0.0.1,dst=::1", "addresses of IPv4 and IPv6")},
        {"min-size=101,max-size=100", EXCLUDE("min-size=101,max-size=100", "sizes")},
        {"tcp,!dport=1,!dport=2,!dport=3,!dport=4,!dport=5,!dport=6,!dport=7,!dport=8,!dport=9,!dport=10,!dport=11,"
         "!dport=12,!dport=13,!dport=14,!dport=15,!dport=16",
         "'tcp,!dport=1,!dport=2,!dport=3,!dport=4,…': more than 16 terms"},
        {"dst=0000000000000000000000000000000000000000000000000000000000000000",
         "'dst=0000000000000000…': longer than any term"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter filter = {.n = 7};
        struct nc_error error;
        CHECK_EQ(filter_parse(cases[i].text, &filter, &error), -1);
        CHECK_STR(error.text, cases[i].says);
        CHECK_EQ(filter.n, 7); /* left alone */
    }
}

int main(void)
{
    make_samples();
    RUN(each_term_chooses_its_packets_and_its_negation_the_others);
    RUN(all_terms_must_hold);
    RUN(texts_come_back_in_one_form);
    RUN(mistakes_are_named_in_one_line);
    return 0;
}
