/* lft-flood DESTINATION PORT PACKETS-A-SECOND COUNT: sends UDP datagrams with any source address at a set rate, for
 * tests of a gateway's reaction. Standard input lists the datagrams, one per line, which are sent in turn: SOURCE PORT
 * HEX, where SOURCE is an IPv4 address, or * for a new address of 10.99.0.0/16 each time. Prints one JSON line: the
 * number of datagrams and the nanoseconds that they took. It uses a raw socket with its own header, and sendmmsg with a
 * hundred datagrams per system call. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "nc_clock.h"

enum { TEMPLATES_MAX = 256, DATAGRAM_MAX = 1472, BATCH = 100, HEADERS = sizeof(struct iphdr) + sizeof(struct udphdr) };

struct template {
    bool anybody;
    in_addr_t source;
    uint16_t port;
    size_t n;
    uint8_t at[DATAGRAM_MAX];
};

struct flood {
    struct sockaddr_in to;
    size_t templates_n;
    struct template templates[TEMPLATES_MAX];
    uint32_t invented; /* sources so far */
};

static int fail(const char *what)
{
    fprintf(stderr, "lft-flood: %s: %s\n", what, strerror(errno));
    return 1;
}

static bool read_hex(const char *text, struct template *template)
{
    size_t digits = strspn(text, "0123456789abcdef");
    template->n = digits / 2;
    if (digits % 2 || template->n > DATAGRAM_MAX || (text[digits] && text[digits] != '\n'))
        return false;
    for (size_t i = 0; i < template->n; i++) {
        const char octet[3] = {text[2 * i], text[2 * i + 1], 0};
        template->at[i] = (uint8_t)strtoul(octet, NULL, 16);
    }
    return true;
}

static int read_templates(struct flood *flood)
{
    static char line[2 * DATAGRAM_MAX + 64];
    while (flood->templates_n < TEMPLATES_MAX && fgets(line, sizeof line, stdin)) {
        struct template *template = &flood->templates[flood->templates_n];
        char source[32];
        int used = 0;
        if (sscanf(line, "%31s %" SCNu16 " %n", source, &template->port, &used) != 2 || !used ||
            !read_hex(line + used, template))
            return -1;
        template->anybody = strcmp(source, "*") == 0;
        template->source = template->anybody ? 0 : inet_addr(source);
        flood->templates_n++;
    }
    return flood->templates_n ? 0 : -1;
}

/* The kernel fills in the IP header's length, identification and checksum. A UDP checksum of 0 means none. */
static size_t make(struct flood *flood, uint64_t number, uint8_t *out)
{
    const struct template *template = &flood->templates[number % flood->templates_n];
    in_addr_t source = template->anybody ? htonl(0x0a630000u | (flood->invented++ & 0xffff)) : template->source;
    const struct iphdr ip = {.version = 4,
                             .ihl = 5,
                             .ttl = 64,
                             .protocol = IPPROTO_UDP,
                             .saddr = source,
                             .daddr = flood->to.sin_addr.s_addr};
    const struct udphdr udp = {.source = htons(template->port),
                               .dest = flood->to.sin_port,
                               .len = htons((uint16_t)(sizeof udp + template->n))};
    memcpy(out, &ip, sizeof ip);
    memcpy(out + sizeof ip, &udp, sizeof udp);
    memcpy(out + HEADERS, template->at, template->n);
    return HEADERS + template->n;
}

static int send_batch(struct flood *flood, int fd, uint64_t first, unsigned n)
{
    static uint8_t memory[BATCH][HEADERS + DATAGRAM_MAX];
    struct mmsghdr messages[BATCH] = {0};
    struct iovec pieces[BATCH];
    for (unsigned i = 0; i < n; i++) {
        pieces[i] = (struct iovec){memory[i], make(flood, first + i, memory[i])};
        messages[i].msg_hdr = (struct msghdr){
            .msg_name = &flood->to, .msg_namelen = sizeof flood->to, .msg_iov = &pieces[i], .msg_iovlen = 1};
    }
    for (unsigned sent = 0; sent < n;) {
        int now = sendmmsg(fd, messages + sent, n - sent, 0);
        if (now < 0 && errno != ENOBUFS && errno != EINTR)
            return -1;
        sent += now > 0 ? (unsigned)now : 0;
    }
    return 0;
}

static void wait_until(uint64_t t_ns)
{
    const struct timespec until = {(time_t)(t_ns / NC_NS_PER_S), (long)(t_ns % NC_NS_PER_S)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

int main(int argc, char **argv)
{
    static struct flood flood;
    if (argc != 5 || inet_pton(AF_INET, argv[1], &flood.to.sin_addr) != 1) {
        fprintf(stderr, "usage: lft-flood DESTINATION PORT PACKETS-A-SECOND COUNT < templates\n");
        return 2;
    }
    uint64_t rate = strtoull(argv[3], NULL, 10), count = strtoull(argv[4], NULL, 10);
    int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
    if (fd < 0)
        return fail("raw socket");
    flood.to.sin_family = AF_INET;
    flood.to.sin_port = htons((uint16_t)strtoul(argv[2], NULL, 10));
    if (!rate || read_templates(&flood) < 0) {
        fprintf(stderr, "lft-flood: want a rate, and lines of SOURCE PORT HEX on standard input\n");
        return 2;
    }
    uint64_t began_ns = nc_now_ns();
    for (uint64_t sent = 0; sent < count; sent += BATCH) {
        wait_until(began_ns + sent * NC_NS_PER_S / rate);
        if (send_batch(&flood, fd, sent, (unsigned)(count - sent < BATCH ? count - sent : BATCH)) < 0)
            return fail(argv[1]);
    }
    printf("{\"v\":1,\"event\":\"end\",\"sent\":%" PRIu64 ",\"elapsed_ns\":%" PRIu64 "}\n", count,
           nc_now_ns() - began_ns);
    return 0;
}
