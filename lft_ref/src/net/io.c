/* The tunnel's socket. */
#include "io.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_log.h"

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

const char *const io_carriage_names[] = {"udp", "esp", NULL};

enum {
    READ_BYTES = 65536, /* one GRO buffer */
    READS = 16,         /* reads a system call */
    TURN_READS = 64,    /* most reads per turn, so that streams and sending get their turn */
    ESP_DATAGRAM_MAX = 10240,
    BATCH_MAX = LFT_BATCH_SEGMENTS,
    TURN_BATCHES = 64,
};

struct io {
    struct loop_source source;
    struct loop *loop;
    struct lft_link *link;
    enum io_carriage carriage;
    int family;
    bool too_big, blocked, fragmentable, unread;
    struct lft_batch waiting; /* n 0: none */
    struct io_counters counters;
    uint32_t overflows_seen;
    struct mmsghdr messages[READS];
    struct iovec pieces[READS];
    struct sockaddr_storage from[READS];
    _Alignas(struct cmsghdr) uint8_t controls[READS][128];
    uint8_t memory[READS][READ_BYTES];
};

static void ready(void *owner, uint32_t events);

/* Off: packets carry "don't fragment" and the kernel ignores its cached path MTU, because the MTU search must also try
 * larger sizes. On: the network may fragment as needed. */
static int set_fragmentable(int fd, int family, bool on)
{
    int v4 = on ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE, v6 = on ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE;
    return family == AF_INET6 ? setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &v6, sizeof v6)
                              : setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &v4, sizeof v4);
}

/* Without root of the machine the buffer is at most net.core.rmem_max. A smaller buffer than asked is logged, because a
 * gateway that is scheduled late then loses datagrams sooner (io.rx_overflows counts them). */
static void set_buffers(int fd, uint64_t bytes)
{
    int buffer = (int)bytes, got = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) == 0)
        return;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &got, &(socklen_t){sizeof got});
    if (got / 2 < buffer)
        nc_log("--socket-buffer: %d KB, not %d KB, without root of the machine: `sysctl -w net.core.rmem_max=%d` there",
               got / 2048, buffer / 1024, buffer);
}

static int set_options(int fd, int family, const struct io_settings *settings)
{
    int on = 1;
    set_buffers(fd, settings->socket_buffer_bytes);
    setsockopt(fd, SOL_SOCKET, SO_RXQ_OVFL, &on, sizeof on);
    if (settings->mark)
        setsockopt(fd, SOL_SOCKET, SO_MARK, &settings->mark, sizeof settings->mark);
    if (settings->carriage == IO_UDP)
        /* if the kernel lacks UDP_GRO, a read returns one datagram */
        setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return set_fragmentable(fd, family, false);
}

/* A bound socket, or -1 with errno. */
static int open_socket(const struct io_settings *settings)
{
    struct sockaddr_storage local = settings->local;
    bool esp = settings->carriage == IO_ESP;
    int fd =
        socket(local.ss_family, (esp ? SOCK_RAW : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, esp ? IPPROTO_ESP : 0);
    if (esp)
        address_clear_port(&local);
    if (fd < 0 || (set_options(fd, local.ss_family, settings) == 0 &&
                   bind(fd, (struct sockaddr *)&local, address_bytes(&local)) == 0))
        return fd;
    int failed = errno;
    close(fd);
    errno = failed;
    return -1;
}

struct io *io_open(const struct io_settings *settings, struct loop *loop, struct lft_link *link, struct nc_error *error)
{
    char text[80];
    struct io *io = calloc(1, sizeof *io);
    int fd = io ? open_socket(settings) : -1;
    if (fd < 0) {
        int failed = errno;
        nc_fail(error, NC_EXIT_MISSING, "--listen '%s' (%s): %s%s", address_text(&settings->local, text, sizeof text),
                io_carriage_names[settings->carriage], strerror(failed), address_bind_advice(failed));
        free(io);
        return NULL;
    }
    io->source = (struct loop_source){.fd = fd, .ready = ready, .owner = io};
    io->loop = loop;
    io->link = link;
    io->carriage = settings->carriage;
    io->family = settings->local.ss_family;
    if (loop_add(loop, &io->source, EPOLLIN) == 0)
        return io;
    nc_fail(error, NC_EXIT_MISSING, "epoll: %s", strerror(errno));
    io_close(io);
    return NULL;
}

void io_close(struct io *io)
{
    if (!io)
        return;
    if (io->source.fd >= 0)
        close(io->source.fd);
    free(io);
}

static void read_controls(struct io *io, struct msghdr *message, size_t *segment)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        int value;
        memcpy(&value, CMSG_DATA(c), sizeof value);
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO && value > 0)
            *segment = (size_t)value;
        else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            io->counters.rx_overflows += (uint32_t)value - io->overflows_seen;
            io->overflows_seen = (uint32_t)value;
        }
    }
}

/* Handles one read: a datagram, or several of one size that the kernel has joined. */
static void take(struct io *io, unsigned i, uint64_t now_ns)
{
    struct mmsghdr *message = &io->messages[i];
    const uint8_t *at = io->memory[i];
    size_t n = message->msg_len, segment = n;
    struct lft_address from = {.n = (uint8_t)address_bytes(&io->from[i])};
    memcpy(from.at, &io->from[i], from.n);
    read_controls(io, &message->msg_hdr, &segment);
    if (io->carriage == IO_ESP && io->family == AF_INET) { /* a raw IPv4 socket gives the IP header too */
        size_t header = n >= 20 ? (at[0] & 15u) * 4u : n;
        at += header <= n ? header : n;
        n -= header <= n ? header : n;
        segment = n;
    }
    for (size_t done = 0; done < n; done += segment, io->counters.rx_datagrams++)
        lft_link_receive(io->link, now_ns, at + done, n - done < segment ? n - done : segment, &from);
}

static int read_some(struct io *io, uint64_t now_ns)
{
    for (unsigned i = 0; i < READS; i++) {
        io->pieces[i] = (struct iovec){io->memory[i], READ_BYTES};
        io->messages[i].msg_hdr = (struct msghdr){.msg_name = &io->from[i],
                                                  .msg_namelen = sizeof io->from[i],
                                                  .msg_iov = &io->pieces[i],
                                                  .msg_iovlen = 1,
                                                  .msg_control = io->controls[i],
                                                  .msg_controllen = sizeof io->controls[i]};
    }
    int n = recvmmsg(io->source.fd, io->messages, READS, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++)
        take(io, (unsigned)i, now_ns);
    io->counters.rx_reads += n > 0 ? (uint64_t)n : 0;
    return n;
}

static void ready(void *owner, uint32_t events)
{
    struct io *io = owner;
    if (events & EPOLLOUT) {
        io->blocked = false;
        loop_change(io->loop, &io->source, EPOLLIN);
    }
    int reads = 0;
    while (reads < TURN_READS && read_some(io, loop_now_ns(io->loop)) == READS)
        reads += READS; /* an error of the socket is an ICMP message about a lost packet */
    io->unread = reads == TURN_READS;
}

static ssize_t send_udp(struct io *io, const struct lft_batch *batch)
{
    struct iovec piece = {(void *)(uintptr_t)batch->at, batch->bytes};
    _Alignas(struct cmsghdr) uint8_t control[CMSG_SPACE(sizeof(uint16_t))] = {0};
    struct msghdr message = {
        .msg_name = (void *)(uintptr_t)batch->to.at, .msg_namelen = batch->to.n, .msg_iov = &piece, .msg_iovlen = 1};
    if (batch->n > 1) {
        uint16_t segment = (uint16_t)batch->segment;
        message.msg_control = control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        *c =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof segment), .cmsg_level = IPPROTO_UDP, .cmsg_type = UDP_SEGMENT};
        memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
    return sendmsg(io->source.fd, &message, MSG_DONTWAIT);
}

/* Sends a datagram for each frame. Datagrams that the socket does not accept are lost, as in a full queue. */
static ssize_t send_each(struct io *io, const struct lft_batch *batch)
{
    struct mmsghdr messages[BATCH_MAX] = {0};
    struct iovec pieces[BATCH_MAX];
    unsigned n = 0;
    for (size_t done = 0; done < batch->bytes && n < BATCH_MAX; done += batch->segment, n++) {
        size_t left = batch->bytes - done;
        pieces[n] =
            (struct iovec){(void *)(uintptr_t)(batch->at + done), left < batch->segment ? left : batch->segment};
        messages[n].msg_hdr = (struct msghdr){.msg_name = (void *)(uintptr_t)batch->to.at,
                                              .msg_namelen = batch->to.n,
                                              .msg_iov = &pieces[n],
                                              .msg_iovlen = 1};
    }
    return sendmmsg(io->source.fd, messages, n, MSG_DONTWAIT);
}

/* True for frames made before the path MTU decreased. Their octets cannot be divided again, so the network may fragment
 * them; but it must not fragment a PROBE. */
static bool must_fragment(const struct io *io, const struct lft_batch *batch)
{
    enum { PADDING_MOST = 8 };
    if (batch->segment <= lft_link_payload_max(io->link) + LFT_FRAME_OVERHEAD + PADDING_MOST)
        return false;
    for (size_t done = 0; done < batch->bytes; done += batch->segment)
        if (lft_header_get(batch->at + done).command == LFT_PROBE)
            return false;
    return true;
}

/* True: the socket is full and the batch must wait. */
static bool send_batch(struct io *io, const struct lft_batch *batch)
{
    bool fragment = must_fragment(io, batch);
    if (fragment != io->fragmentable && set_fragmentable(io->source.fd, io->family, fragment) == 0)
        io->fragmentable = fragment;
    ssize_t sent = io->carriage == IO_UDP && !fragment ? send_udp(io, batch) : send_each(io, batch);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) {
        io->counters.tx_blocked++;
        return true;
    }
    if (sent < 0 && (errno == EMSGSIZE || errno == EINVAL)) { /* segmentation offload says EINVAL */
        io->too_big = true;
        io->counters.tx_too_big++;
    } else if (sent < 0)
        io->counters.tx_failed++;
    io->counters.tx_batches++;
    io->counters.tx_datagrams += batch->n;
    return false;
}

static bool is_full(const struct lft_batch *batch)
{
    return batch->n == BATCH_MAX || batch->bytes + batch->segment > LFT_BATCH_BYTES;
}

/* A batch that is not full holds all frames that the limit allowed when it was filled. Frames allowed since then wait
 * for the next turn: about one frame becomes due during each system call, and sending it alone would cost another
 * call. */
unsigned io_transmit(struct io *io)
{
    uint64_t now_ns = nc_now_ns();
    unsigned sent = 0;
    /* Bounded, because without a limit there may be frames for seconds, during which clients and peer would wait. */
    for (unsigned batches = 0; batches < TURN_BATCHES && !io->blocked; batches++) {
        if (!io->waiting.n && !lft_link_transmit(io->link, now_ns, &io->waiting)) {
            io->waiting.n = 0;
            break;
        }
        if (send_batch(io, &io->waiting)) {
            io->blocked = true;
            loop_change(io->loop, &io->source, EPOLLIN | EPOLLOUT);
            break;
        }
        /* This thread may have been stopped since these frames were allowed; the limit applies to the time at which
         * they leave. */
        uint64_t left_ns = nc_now_ns();
        lft_link_left(io->link, left_ns);
        if (is_full(&io->waiting))
            now_ns = left_ns;
        sent += io->waiting.n;
        io->waiting.n = 0;
    }
    return sent;
}

uint32_t io_outer_bytes(enum io_carriage carriage, int family)
{
    return (family == AF_INET6 ? 40u : 20u) + (carriage == IO_UDP ? 8u : 0u);
}

bool io_unread(struct io *io)
{
    bool unread = io->unread;
    io->unread = false;
    return unread;
}

bool io_blocked(const struct io *io)
{
    return io->blocked;
}

bool io_was_too_big(struct io *io)
{
    bool was = io->too_big;
    io->too_big = false;
    return was;
}

const struct io_counters *io_counters(const struct io *io)
{
    return &io->counters;
}
