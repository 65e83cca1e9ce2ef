/* The TCP-shaped port (port.h): a raw socket sends segments with TCP headers and continuous sequence numbers. Flows
 * differ only in their source ports. There is no handshake and nobody listens, so the receiving host answers with
 * RST. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nc_bytes.h"
#include "nc_packet.h"
#include "port.h"

enum { HEADER = 20, FIRST_PORT = 40000, SEND_BUFFER = 4 << 20 };

struct tcp_port {
    struct pl_port port;
    int fd;
    size_t ip_header;
    uint16_t to;
    uint64_t pseudo_sum; /* the part of the checksum over addresses and protocol */
    struct mmsghdr messages[PL_BATCH_MAX];
    struct iovec parts[PL_BATCH_MAX];
    uint32_t next[]; /* next sequence number of each flow */
};

static void write_header(struct tcp_port *port, uint8_t *at, size_t len, const struct pl_departure *departure)
{
    nc_put16(at, (uint16_t)(FIRST_PORT + departure->flow));
    nc_put16(at + 2, port->to);
    nc_put32(at + 4, port->next[departure->flow]);
    nc_put32(at + 8, 1);
    nc_put16(at + 12, (HEADER / 4) << 12 | NC_TCP_ACK | NC_TCP_PSH);
    nc_put16(at + 14, UINT16_MAX);
    nc_put32(at + 16, 0);
    port->next[departure->flow] += (uint32_t)(len - HEADER);
    uint8_t length[4];
    nc_put32(length, (uint32_t)len);
    uint16_t sum = nc_csum_fold(nc_csum_add(nc_csum_add(port->pseudo_sum, length, 4), at, len));
    memcpy(at + 16, &sum, sizeof sum);
}

static int send_batch(struct pl_port *base, const struct pl_departure *batch, size_t n, struct nc_error *error)
{
    struct tcp_port *port = (struct tcp_port *)base;
    for (size_t i = 0; i < n; i++) {
        size_t len = batch[i].size - port->ip_header;
        uint8_t *at = pl_port_payload(base, i, HEADER, &batch[i]);
        write_header(port, at, len, &batch[i]);
        port->parts[i] = (struct iovec){at, len};
        port->messages[i].msg_hdr = (struct msghdr){.msg_iov = &port->parts[i], .msg_iovlen = 1};
    }
    return pl_port_send_all(base, port->fd, port->messages, n, error);
}

static void close_port(struct pl_port *base)
{
    struct tcp_port *port = (struct tcp_port *)base;
    if (port->fd >= 0)
        close(port->fd);
    free(base->memory);
    free(port);
}

/* The part of the checksum that all packets share: both addresses and the protocol. */
static int sum_addresses(struct tcp_port *port, const struct pl_port_settings *settings)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    uint8_t protocol[2] = {0, IPPROTO_TCP};
    if (getsockname(port->fd, (struct sockaddr *)&from, &len) < 0)
        return -1;
    bool v6 = from.ss_family == AF_INET6;
    for (int i = 0; i < 2; i++) {
        const struct sockaddr_storage *end = i ? &settings->to : &from;
        const void *address = v6 ? (const void *)&((const struct sockaddr_in6 *)end)->sin6_addr
                                 : (const void *)&((const struct sockaddr_in *)end)->sin_addr;
        port->pseudo_sum = nc_csum_add(port->pseudo_sum, address, v6 ? 16 : 4);
    }
    port->pseudo_sum = nc_csum_add(port->pseudo_sum, protocol, sizeof protocol);
    return 0;
}

static int open_socket(struct tcp_port *port, const struct pl_port_settings *settings, struct nc_error *error)
{
    struct sockaddr_storage to = settings->to;
    int room = SEND_BUFFER;
    port->fd = socket(to.ss_family, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_TCP);
    if (port->fd < 0)
        return nc_fail(error, NC_EXIT_MISSING, "--protocol tcp: no raw socket (%s); run as root or give CAP_NET_RAW",
                       strerror(errno));
    setsockopt(port->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room); /* optional */
    port->to = ntohs(to.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&to)->sin6_port
                                              : ((struct sockaddr_in *)&to)->sin_port);
    *(to.ss_family == AF_INET6 ? &((struct sockaddr_in6 *)&to)->sin6_port : &((struct sockaddr_in *)&to)->sin_port) = 0;
    if (connect(port->fd, (const struct sockaddr *)&to, settings->to_len) < 0 || sum_addresses(port, settings) < 0)
        return nc_fail(error, NC_EXIT_FAILED, "no way to the sink: %s", strerror(errno));
    return 0;
}

static const struct pl_port_ops ops = {.send = send_batch, .close = close_port};

struct pl_port *pl_port_tcp(const struct pl_port_settings *settings, struct nc_error *error)
{
    struct tcp_port *port = calloc(1, sizeof *port + settings->flows * sizeof *port->next);
    if (!port || pl_port_init(&port->port, &ops, settings, settings->largest) < 0) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        free(port);
        return NULL;
    }
    port->ip_header = settings->to.ss_family == AF_INET6 ? 40 : 20;
    for (unsigned i = 0; i < settings->flows; i++)
        port->next[i] = settings->session + i * 77777;
    if (open_socket(port, settings, error) == 0)
        return &port->port;
    close_port(&port->port);
    return NULL;
}
