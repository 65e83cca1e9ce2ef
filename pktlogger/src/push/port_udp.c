/* The UDP port (port.h). A flow is a connected socket with its own source port. A batch is sent flow by flow.
 * Successive packets of a flow with equal size become one message of up to 64 segments. */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "flood.h"
#include "nc_range.h"
#include "port.h"
#include "probe.h"
#include "qdisc.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

enum { SEGMENTS_MAX = 64, MESSAGE_MAX = 65487, SEND_BUFFER = 4 << 20, CONTROL = CMSG_SPACE(sizeof(uint64_t)) };

struct udp_port {
    struct pl_port port;
    size_t headers;  /* octets of IP and UDP header */
    size_t segments; /* largest number of packets per message; 1: no offload */
    uint32_t mtu;
    bool txtime;
    struct mmsghdr messages[PL_BATCH_MAX];
    struct iovec parts[PL_BATCH_MAX];
    _Alignas(struct cmsghdr) uint8_t control[PL_BATCH_MAX][CONTROL];
    uint16_t order[PL_BATCH_MAX]; /* the packets of the batch, sorted by flow */
    struct pl_flood *flood;       /* NULL: every message has one packet */
    int sockets[];
};

/* Sets a message's control data: the size of its segments, or the time of departure. */
static void set_control(struct msghdr *message, uint8_t *memory, int level, int type, const void *value, size_t len)
{
    message->msg_control = memory;
    message->msg_controllen = CMSG_SPACE(len);
    struct cmsghdr *control = CMSG_FIRSTHDR(message);
    control->cmsg_level = level;
    control->cmsg_type = type;
    control->cmsg_len = CMSG_LEN(len);
    memcpy(CMSG_DATA(control), value, len);
}

/* Makes message number `m` from the packets order[from … to). */
static void make_message(struct udp_port *port, size_t m, size_t from, size_t to, const struct pl_departure *batch)
{
    struct msghdr *message = &port->messages[m].msg_hdr;
    uint16_t segment = (uint16_t)(batch[port->order[from]].size - port->headers);
    bool side_by_side =
        segment == port->port.stride; /* one buffer per message costs the kernel less than one per packet */
    for (size_t i = from; i < to; i++) {
        uint8_t *at = pl_port_payload(&port->port, i, 0, &batch[port->order[i]]);
        if (!side_by_side || i == from)
            port->parts[i] = (struct iovec){at, segment};
    }
    if (side_by_side)
        port->parts[from].iov_len = (to - from) * segment;
    *message = (struct msghdr){.msg_iov = &port->parts[from], .msg_iovlen = side_by_side ? 1 : to - from};
    if (to - from > 1)
        set_control(message, port->control[m], SOL_UDP, UDP_SEGMENT, &segment, sizeof segment);
    else if (port->txtime)
        set_control(message, port->control[m], SOL_SOCKET, SCM_TXTIME, &batch[port->order[from]].due_ns,
                    sizeof(uint64_t));
}

/* How many packets from order[from] on form one message. */
static size_t message_end(const struct udp_port *port, size_t from, size_t n, const struct pl_departure *batch)
{
    const struct pl_departure *first = &batch[port->order[from]];
    size_t payload = first->size - port->headers, most = nc_min(port->segments, MESSAGE_MAX / payload), to = from + 1;
    if (first->size > port->mtu)
        return to;
    while (to < n && to - from < most && batch[port->order[to]].flow == first->flow &&
           batch[port->order[to]].size == first->size)
        to++;
    return to;
}

static void sort_by_flow(struct udp_port *port, const struct pl_departure *batch, size_t n)
{
    size_t placed = 0;
    if (port->port.flows == 1) /* with one flow, the packets are already in order */
        return;
    bool taken[PL_BATCH_MAX] = {false};
    for (size_t i = 0; i < n; i++) /* quadratic, but a batch is short, and its flows alternate */
        for (size_t j = i; j < n && !taken[i]; j++)
            if (!taken[j] && batch[j].flow == batch[i].flow) {
                port->order[placed++] = (uint16_t)j;
                taken[j] = j != i;
            }
}

static int send_batch(struct pl_port *base, const struct pl_departure *batch, size_t n, struct nc_error *error)
{
    struct udp_port *port = (struct udp_port *)base;
    sort_by_flow(port, batch, n);
    for (size_t i = 0; i < n;) {
        uint16_t flow = batch[port->order[i]].flow;
        size_t messages = 0;
        while (i < n && batch[port->order[i]].flow == flow) {
            size_t end = message_end(port, i, n, batch);
            make_message(port, messages++, i, end, batch);
            i = end;
        }
        if (pl_port_send_all(base, port->sockets[flow], port->messages, messages, error) < 0)
            return -1;
    }
    return 0;
}

static int flood(struct pl_port *base, const struct pl_departure *first, size_t n, struct nc_error *error)
{
    struct udp_port *port = (struct udp_port *)base;
    return pl_flood_send(port->flood, base, port->sockets[first->flow], first, n, error);
}

static void close_port(struct pl_port *base)
{
    struct udp_port *port = (struct udp_port *)base;
    for (unsigned i = 0; i < base->flows; i++)
        if (port->sockets[i] >= 0)
            close(port->sockets[i]);
    pl_flood_free(port->flood);
    free(base->memory);
    free(port);
}

static int open_socket(const struct pl_port_settings *settings, struct nc_error *error)
{
    int fd = socket(settings->to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), room = SEND_BUFFER;
    if (fd < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--flows %u: cannot open a socket: %s", settings->flows,
                       strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room); /* optional */
    struct sock_txtime txtime = {.clockid = CLOCK_MONOTONIC};
    if (connect(fd, (const struct sockaddr *)&settings->to, settings->to_len) < 0)
        nc_fail(error, NC_EXIT_FAILED, "no way to the sink: %s", strerror(errno));
    else if (settings->txtime && setsockopt(fd, SOL_SOCKET, SO_TXTIME, &txtime, sizeof txtime) < 0)
        nc_fail(error, NC_EXIT_MISSING, "--txtime: the kernel refuses SO_TXTIME: %s", strerror(errno));
    else
        return fd;
    close(fd);
    return -1;
}

static uint32_t mtu_of(int fd, bool v6)
{
    int mtu = 0;
    socklen_t len = sizeof mtu;
    if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? IPV6_MTU : IP_MTU, &mtu, &len) < 0)
        return 1280;
    return (uint32_t)mtu;
}

static const struct pl_port_ops ops = {.send = send_batch, .flood = flood, .close = close_port};

struct pl_port *pl_port_udp(const struct pl_port_settings *settings, struct nc_error *error)
{
    bool v6 = settings->to.ss_family == AF_INET6;
    if (settings->txtime && pl_qdisc_check_txtime(&settings->to, error) < 0)
        return NULL;
    struct udp_port *port = calloc(1, sizeof *port + settings->flows * sizeof *port->sockets);
    size_t headers = v6 ? 48 : 28;
    if (!port || pl_port_init(&port->port, &ops, settings, settings->largest - headers) < 0) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        free(port);
        return NULL;
    }
    for (size_t i = 0; i < PL_BATCH_MAX; i++)
        port->order[i] = (uint16_t)i;
    memset(port->sockets, 0xff, settings->flows * sizeof *port->sockets);
    port->headers = headers;
    port->txtime = settings->txtime;
    for (unsigned i = 0; i < settings->flows; i++)
        if ((port->sockets[i] = open_socket(settings, error)) < 0) {
            close_port(&port->port);
            return NULL;
        }
    int none = 0;
    bool offload = setsockopt(port->sockets[0], SOL_UDP, UDP_SEGMENT, &none, sizeof none) == 0; /* Linux 4.18 */
    port->segments = offload && !settings->txtime ? SEGMENTS_MAX : 1;
    port->mtu = mtu_of(port->sockets[0], v6);
    size_t most = nc_max(nc_min(port->segments, MESSAGE_MAX / port->port.stride), 1);
    if (port->port.batch_max > most) /* only full messages, because a short one costs nearly as much */
        port->port.batch_max -= port->port.batch_max % most;
    if (most > 1 && settings->largest <= port->mtu && (port->flood = pl_flood_new(most, port->port.stride)))
        port->port.flood_max = pl_flood_most(port->flood);
    return &port->port;
}
