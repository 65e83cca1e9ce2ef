/* Implements sink_socket.h. */
#include "sink_socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nc_bytes.h"
#include "nc_clock.h"
#include "nc_packet.h"
#include "nc_range.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

enum { MESSAGES = 64, ROUNDS = 8, MESSAGE_MAX = 65536, CONTROL = 256 };

struct end {
    int fd;
    bool v6;
    uint64_t drops;
};
struct pl_sink_socket {
    struct end ends[PL_SINK_FDS];
    size_t n;
    bool tcp;
    uint16_t port; /* port of TCP-shaped packets; a raw socket receives those of all ports */
    uint8_t *memory;
    struct mmsghdr messages[MESSAGES];
    struct iovec parts[MESSAGES];
    _Alignas(struct cmsghdr) uint8_t control[MESSAGES][CONTROL];
};

/* The kernel's data about a message. */
struct notes {
    uint64_t arrival_ns;
    uint32_t segment; /* octets of each packet in the message except the last; 0: the message is one packet */
};

static void enlarge(int fd, uint64_t bytes)
{
    int size = (int)nc_min(bytes, INT32_MAX / 2);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
}

/* Opens a socket at this address. Returns 0, or the errno of the failure. */
static int open_socket(struct pl_sink_socket *sink, const struct pl_sink_settings *settings,
                       const struct sockaddr_storage *at)
{
    int on = 1, off = 0, type = settings->tcp ? SOCK_RAW : SOCK_DGRAM;
    int fd = socket(at->ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, settings->tcp ? IPPROTO_TCP : 0);
    if (fd < 0)
        return errno;
    enlarge(fd, settings->buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    if (at->ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (!settings->tcp)
        setsockopt(fd, SOL_UDP, UDP_GRO, &on, sizeof on); /* needs Linux 5.0; without it each packet is a message */
    if (bind(fd, (const struct sockaddr *)at, sizeof *at) < 0) {
        int failed = errno;
        close(fd);
        return failed;
    }
    sink->ends[sink->n++] = (struct end){.fd = fd, .v6 = at->ss_family == AF_INET6};
    return 0;
}

/* Opens sockets for both families if the address is `::`. A UDP socket at `::` receives both; a raw socket receives
 * only its own family. If the kernel lacks IPv6, only IPv4 is used. */
static int open_sockets(struct pl_sink_socket *sink, const struct pl_sink_settings *settings)
{
    struct sockaddr_storage at = settings->at, v4 = {.ss_family = AF_INET};
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&at;
    bool both = at.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
    uint16_t *port = at.ss_family == AF_INET6 ? &v6->sin6_port : &((struct sockaddr_in *)&at)->sin_port;
    sink->port = ntohs(*port);
    if (settings->tcp)
        *port = 0;
    ((struct sockaddr_in *)&v4)->sin_port = *port;
    int failed = open_socket(sink, settings, &at);
    bool no_v6 = failed == EAFNOSUPPORT || failed == EADDRNOTAVAIL;
    return both && (no_v6 || (!failed && settings->tcp)) ? open_socket(sink, settings, &v4) : failed;
}

static int say_failed(const struct pl_sink_socket *sink, int failed, struct nc_error *error)
{
    if (failed == EPERM && sink->tcp)
        return nc_fail(error, NC_EXIT_MISSING, "cannot open a socket (%s); --protocol tcp wants root or CAP_NET_RAW",
                       strerror(failed));
    return nc_fail(error, failed == EADDRINUSE ? NC_EXIT_FAILED : NC_EXIT_USAGE, "--port %u: cannot bind: %s",
                   sink->port, strerror(failed));
}

struct pl_sink_socket *pl_sink_open(const struct pl_sink_settings *settings, struct nc_error *error)
{
    struct pl_sink_socket *sink = calloc(1, sizeof *sink);
    if (!sink || !(sink->memory = malloc((size_t)MESSAGES * MESSAGE_MAX))) {
        nc_fail(error, NC_EXIT_MISSING, "out of memory");
        free(sink);
        return NULL;
    }
    sink->tcp = settings->tcp;
    int failed = open_sockets(sink, settings);
    if (!failed)
        return sink;
    say_failed(sink, failed, error);
    pl_sink_close(sink);
    return NULL;
}

void pl_sink_poll(const struct pl_sink_socket *sink, struct pollfd fds[PL_SINK_FDS])
{
    for (size_t i = 0; i < PL_SINK_FDS; i++)
        fds[i] = (struct pollfd){.fd = i < sink->n ? sink->ends[i].fd : -1, .events = POLLIN};
}

static struct notes read_notes(struct end *end, struct msghdr *message)
{
    struct notes notes = {.arrival_ns = 0};
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at; at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec when;
            memcpy(&when, CMSG_DATA(at), sizeof when);
            notes.arrival_ns = (uint64_t)when.tv_sec * NC_NS_PER_S + (uint64_t)when.tv_nsec;
        } else if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SO_RXQ_OVFL) {
            uint32_t drops;
            memcpy(&drops, CMSG_DATA(at), sizeof drops);
            end->drops += (uint32_t)(drops - (uint32_t)end->drops); /* the kernel's counter has 32 bits */
        } else if (at->cmsg_level == SOL_UDP && at->cmsg_type == UDP_GRO) {
            int segment;
            memcpy(&segment, CMSG_DATA(at), sizeof segment);
            notes.segment = segment > 0 ? (uint32_t)segment : 0;
        }
    }
    if (!notes.arrival_ns) /* the first packets after opening a socket may have no time stamp */
        notes.arrival_ns = nc_clock_pair_read().realtime_ns;
    return notes;
}

/* The payload of a TCP-shaped packet; false if the packet is for another port. A raw socket delivers the IP header in
 * IPv4 only. */
static bool find_payload(const struct pl_sink_socket *sink, bool v6, const uint8_t **data, size_t *len)
{
    struct nc_packet packet;
    size_t skip;
    if (!v6) {
        if (nc_packet_decode(NC_LINK_RAW_IP, *data, *len, *len, &packet) != NC_DECODED || packet.l4 != NC_L4_TCP ||
            packet.dst_port != sink->port)
            return false;
        skip = packet.payload_offset;
    } else if (*len < 20 || nc_get16(*data + 2) != sink->port || (skip = (size_t)((*data)[12] >> 4) * 4) < 20)
        return false;
    if (skip > *len)
        return false;
    *data += skip;
    *len -= skip;
    return true;
}

static int take_message(const struct pl_sink_socket *sink, struct end *end, struct mmsghdr *message,
                        struct pl_arrivals *arrivals)
{
    struct notes notes = read_notes(end, &message->msg_hdr);
    const uint8_t *data = message->msg_hdr.msg_iov->iov_base;
    size_t len = message->msg_len;
    if (sink->tcp && !find_payload(sink, end->v6, &data, &len))
        return 0;
    size_t each = notes.segment ? notes.segment : nc_max(len, 1), at = 0;
    do {
        size_t n = nc_min(each, len - at);
        if (pl_arrivals_take(arrivals, data + at, n, n, notes.arrival_ns) < 0)
            return -1;
        at += n;
    } while (at < len);
    return 0;
}

static void prepare(struct pl_sink_socket *sink)
{
    for (size_t i = 0; i < MESSAGES; i++) {
        sink->parts[i] = (struct iovec){sink->memory + i * MESSAGE_MAX, MESSAGE_MAX};
        sink->messages[i].msg_hdr = (struct msghdr){
            .msg_iov = &sink->parts[i], .msg_iovlen = 1, .msg_control = sink->control[i], .msg_controllen = CONTROL};
    }
}

static int take(struct pl_sink_socket *sink, struct end *end, struct pl_arrivals *arrivals, struct nc_error *error)
{
    int taken = 0;
    for (int round = 0; round < ROUNDS; round++) {
        prepare(sink);
        int got = recvmmsg(end->fd, sink->messages, MESSAGES, MSG_DONTWAIT, NULL);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (got < 0)
            return nc_fail(error, NC_EXIT_FAILED, "cannot receive: %s", strerror(errno));
        for (int i = 0; i < got; i++)
            if (take_message(sink, end, &sink->messages[i], arrivals) < 0)
                return nc_fail(error, NC_EXIT_FAILED, "out of memory");
        taken += got;
        if (got < MESSAGES)
            break;
    }
    return taken;
}

int pl_sink_take(struct pl_sink_socket *sink, struct pl_arrivals *arrivals, struct nc_error *error)
{
    int taken = 0;
    for (size_t i = 0; i < sink->n; i++) {
        int got = take(sink, &sink->ends[i], arrivals, error);
        if (got < 0)
            return -1;
        taken += got;
    }
    return taken;
}

uint64_t pl_sink_drops(const struct pl_sink_socket *sink)
{
    uint64_t drops = 0;
    for (size_t i = 0; i < sink->n; i++)
        drops += sink->ends[i].drops;
    return drops;
}

void pl_sink_close(struct pl_sink_socket *sink)
{
    for (size_t i = 0; i < sink->n; i++)
        close(sink->ends[i].fd);
    free(sink->memory);
    free(sink);
}
