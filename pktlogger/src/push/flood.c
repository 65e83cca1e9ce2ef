/* Implements flood.h. */
#include "flood.h"

#include <errno.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "nc_range.h"
#include "probe.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { MESSAGES = 16 };

struct pl_flood {
    size_t packets, payload, apart; /* packets per message; payload per message; octets from the beginning of one
                                     * message to that of the next */
    size_t made;                    /* number of packets whose headers and messages are prepared */
    struct mmsghdr messages[MESSAGES];
    struct iovec parts[MESSAGES];
    uint8_t memory[];
};

struct pl_flood *pl_flood_new(size_t packets, size_t payload)
{
    size_t whole = packets * payload, apart = payload < (size_t)MESSAGES * PL_PROBE_LEN ? whole : PL_PROBE_LEN;
    struct pl_flood *flood = calloc(1, sizeof *flood + (MESSAGES - 1) * apart + whole);
    if (!flood)
        return NULL;
    flood->packets = packets;
    flood->payload = payload;
    flood->apart = apart;
    return flood;
}

size_t pl_flood_most(const struct pl_flood *flood)
{
    return MESSAGES * flood->packets;
}

static void make(struct pl_flood *flood, const struct pl_port *port, const struct pl_departure *first, size_t n)
{
    const struct pl_probe probe = {.session = port->session, .flow = first->flow, .flows = port->flows};
    for (size_t i = 0; i < n; i++)
        pl_probe_write(&probe, flood->memory + i / flood->packets * flood->apart + i % flood->packets * flood->payload);
    for (size_t i = 0; i < n; i += flood->packets) {
        size_t m = i / flood->packets;
        flood->parts[m] =
            (struct iovec){flood->memory + m * flood->apart, nc_min(flood->packets, n - i) * flood->payload};
        flood->messages[m].msg_hdr = (struct msghdr){.msg_iov = &flood->parts[m], .msg_iovlen = 1};
    }
    flood->made = n;
}

int pl_flood_send(struct pl_flood *flood, struct pl_port *port, int fd, const struct pl_departure *first, size_t n,
                  struct nc_error *error)
{
    const int segment =
        (int)flood->payload; /* as an option of the socket, so that the kernel need not read the size from each
                              * message */
    if (!flood->made && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) < 0)
        return nc_fail(error, NC_EXIT_FAILED, "cannot send: the kernel refuses UDP_SEGMENT: %s", strerror(errno));
    if (flood->made != n)
        make(flood, port, first, n);
    uint64_t number = first->sequence, end = number + n;
    size_t messages = 0;
    for (; number < end; messages++) {
        uint8_t *at = flood->memory + messages * flood->apart;
        for (size_t i = 0; i < flood->packets && number < end; i++, at += flood->payload)
            pl_probe_renumber(at, number++, first->sent_ns);
    }
    return pl_port_send_all(port, fd, flood->messages, messages, error);
}

void pl_flood_free(struct pl_flood *flood)
{
    free(flood);
}
