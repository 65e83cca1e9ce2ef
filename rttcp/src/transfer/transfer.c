#include "transfer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nc_clock.h"
#include "nc_quantity.h"
#include "nc_range.h"
#include "window.h"

/* Size of the buffers of all receiving streams together: large enough for few wake-ups, small enough for the caches. */
#define READ_BYTES (UINT64_C(1) << 20)
#define READ_MIN (UINT64_C(256) << 10)  /* smallest buffer of one receiving stream */
#define SEND_BUFFER_MIN 65536           /* size of the writes during the opening */
#define TUNE_CALLS 64                   /* number of reads after which the low-water mark is set again */
#define WAKE_NS NC_NS_PER_MS            /* intended time between two wake-ups of the receiver */
#define WAKE_MAX_NS (10 * NC_NS_PER_MS) /* the longest time between two wake-ups, when the receiver does not copy */
#define LOWAT_UNCOPIED_MAX (UINT64_C(8) << 20)
#define READ_UNCOPIED ((size_t)1 << 30)

const char *const rttcp_ended_names[] = {
    [ENDED_BYTES] = "bytes", [ENDED_DURATION] = "duration", [ENDED_SIGNAL] = "signal", [ENDED_ERROR] = "error"};
_Static_assert(sizeof rttcp_ended_names / sizeof rttcp_ended_names[0] == ENDED_N, "a name for every end");

static uint64_t buffer_bytes(const struct rttcp_params *params, uint64_t stream, bool sending)
{
    if (sending)
        return nc_max(params->length_bytes, SEND_BUFFER_MIN);
    return nc_max(READ_BYTES / (stream < params->forward ? params->forward : params->reverse), READ_MIN);
}

static bool is_file(const struct rttcp_params *params, bool sending)
{
    return sending && params->zerocopy;
}

uint64_t rttcp_transfer_memory(const struct rttcp_params *params, uint64_t stream, bool sending)
{
    uint64_t room = is_file(params, sending) ? 0 : params->align_bytes + params->offset_bytes;
    return buffer_bytes(params, stream, sending) + room;
}

static int map_buffer(struct rttcp_transfer *transfer, bool sending, struct nc_error *error)
{
    const struct rttcp_params *params = transfer->params;
    bool shared = is_file(params, sending);
    int flags = (shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_POPULATE;
    size_t align = shared ? 0 : params->align_bytes, offset = shared ? 0 : params->offset_bytes;
    transfer->mapped_size = rttcp_transfer_memory(params, transfer->stream, sending);
    void *memory = mmap(NULL, transfer->mapped_size, PROT_READ | PROT_WRITE, flags, transfer->source_fd, 0);
    if (memory == MAP_FAILED)
        return nc_fail(error, NC_EXIT_MISSING, "--length %zu: no memory for the buffer", transfer->buffer_size);
    transfer->mapped = memory;
    uintptr_t at = (uintptr_t)memory;
    transfer->buffer = (uint8_t *)memory + (align ? (align - at % align) % align : 0) + offset;
    return 0;
}

int rttcp_transfer_prepare(struct rttcp_transfer *transfer, bool sending, struct nc_error *error)
{
    const struct rttcp_params *params = transfer->params;
    transfer->lowat_bytes = 1;
    transfer->buffer_size = buffer_bytes(params, transfer->stream, sending);
    if (is_file(params, sending)) {
        transfer->source_fd = memfd_create("rttcp-zerocopy", MFD_CLOEXEC);
        if (transfer->source_fd < 0 || ftruncate(transfer->source_fd, (off_t)transfer->buffer_size) < 0)
            return nc_fail(error, NC_EXIT_MISSING, "--zerocopy: no file in memory: %s", strerror(errno));
    }
    if (map_buffer(transfer, sending, error) < 0)
        return -1;
    struct rttcp_pattern filler = rttcp_pattern_create(params->seed, transfer->stream);
    rttcp_pattern_fill(&filler, 0, transfer->buffer, transfer->buffer_size);
    if (params->verify && !(transfer->verify = rttcp_verify_create(params->seed, transfer->stream)))
        return nc_fail(error, NC_EXIT_MISSING, "--verify: no memory");
    if (params->request_bytes && !(transfer->rr = rttcp_rr_create(params, sending)))
        return nc_fail(error, NC_EXIT_MISSING, "--request: no memory");
    return 0;
}

/* Makes close() reset the connection. Otherwise the kernel would go on sending abandoned data for minutes after the
 * close. A confirmed transfer has no data left; at most an ACK is missing. */
static void reset_if_unacknowledged(int fd)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};
    if (rttcp_unacknowledged(fd))
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

void rttcp_transfer_release(struct rttcp_transfer *transfer)
{
    if (transfer->mapped)
        munmap(transfer->mapped, transfer->mapped_size);
    if (transfer->source_fd >= 0)
        close(transfer->source_fd);
    if (transfer->fd >= 0) {
        reset_if_unacknowledged(transfer->fd);
        close(transfer->fd);
    }
    rttcp_verify_release(transfer->verify);
    transfer->mapped = NULL;
    rttcp_rr_release(transfer->rr);
    transfer->verify = NULL;
    transfer->rr = NULL;
    transfer->fd = transfer->source_fd = -1;
}

uint64_t rttcp_unacknowledged(int fd)
{
    int queued = 0;
    ioctl(fd, SIOCOUTQ, &queued);
    return (uint64_t)queued;
}

uint64_t rttcp_transfer_moved(const struct rttcp_transfer *transfer)
{
    return atomic_load_explicit(&transfer->bytes, memory_order_relaxed);
}

/* Adds to the counter without an atomic addition, because only the stream's thread writes it. */
static void add_moved(struct rttcp_transfer *transfer, size_t n)
{
    atomic_store_explicit(&transfer->bytes, rttcp_transfer_moved(transfer) + n, memory_order_relaxed);
}

static bool cancelled(const struct rttcp_transfer *transfer)
{
    return atomic_load_explicit(&transfer->orders->cancel, memory_order_relaxed);
}

bool rttcp_transfer_may_retry(const struct rttcp_transfer *transfer, uint64_t *idle_since_ns, const char *what,
                              struct nc_error *error)
{
    char text[32];
    int failed = errno;
    uint64_t now = nc_now_ns(), timeout_ns = transfer->params->timeout_ns;
    if (cancelled(transfer)) {
        nc_fail(error, NC_EXIT_FAILED, "data connection: given up");
        return false;
    }
    if (failed != EAGAIN && failed != EINTR) {
        nc_fail(error, NC_EXIT_FAILED, "data connection: %s%s", strerror(failed),
                failed == ETIMEDOUT ? " (--timeout)" : "");
        return false;
    }
    if (*idle_since_ns == 0)
        *idle_since_ns = now;
    if (now - *idle_since_ns < timeout_ns)
        return true;
    nc_fail(error, NC_EXIT_FAILED, "data connection: %s for %s (--timeout)", what,
            nc_quantity_format(NC_UNIT_DURATION, timeout_ns, text, sizeof text));
    return false;
}

static enum rttcp_ended may_go_on(struct rttcp_transfer *transfer, const char *what, struct nc_error *error)
{
    return rttcp_transfer_may_retry(transfer, &transfer->idle_since_ns, what, error) ? ENDED_N : ENDED_ERROR;
}

size_t rttcp_transfer_next_write(const struct rttcp_transfer *transfer, uint64_t most, enum rttcp_ended *ended)
{
    const struct rttcp_params *params = transfer->params;
    uint64_t left = params->bytes ? transfer->quota_bytes - rttcp_transfer_moved(transfer) : most;
    if (atomic_load_explicit(&transfer->orders->finish, memory_order_relaxed) || cancelled(transfer))
        *ended = ENDED_SIGNAL;
    else if (params->duration_ns && nc_now_ns() - transfer->t0_ns >= params->duration_ns + params->omit_ns)
        *ended = ENDED_DURATION;
    else if (left == 0)
        *ended = ENDED_BYTES;
    else
        return left < most ? left : most;
    return 0;
}

/* With verify: returns the content from the stream's current offset on, at most *want octets, and sets *want to their
 * number. The rest of a short write is sent before new content is made. */
static const uint8_t *next_content(struct rttcp_transfer *transfer, size_t *want)
{
    uint64_t at = rttcp_transfer_moved(transfer);
    if (at >= transfer->held_to) {
        rttcp_pattern_fill(&transfer->verify->pattern, at, transfer->buffer, *want);
        transfer->held_from = at;
        transfer->held_to = at + *want;
    } else if (*want > transfer->held_to - at)
        *want = transfer->held_to - at;
    return transfer->buffer + (at - transfer->held_from);
}

/* Sets *want to the octets offered to the kernel, which may be fewer. */
static ssize_t send_some(struct rttcp_transfer *transfer, size_t *want)
{
    if (transfer->source_fd >= 0)
        return sendfile(transfer->fd, transfer->source_fd, &(off_t){0}, *want);
    const uint8_t *data = transfer->verify ? next_content(transfer, want) : transfer->buffer;
    ssize_t n = send(transfer->fd, data, *want, MSG_NOSIGNAL);
    if (n > 0 && transfer->verify)
        rttcp_verify_sent(transfer->verify, data, (size_t)n);
    return n;
}

/* Waits, for a slice at most, until a third of the send buffer is free, which is when the kernel wakes a writer.
 * Without this wait a send after the end of a slice would use any free room, which a program without slices would not
 * do. */
static bool may_write(struct rttcp_transfer *transfer)
{
    struct pollfd socket = {.fd = transfer->fd, .events = POLLOUT};
    transfer->full = transfer->full && poll(&socket, 1, RTTCP_SLICE_NS / NC_NS_PER_MS) <= 0;
    return !transfer->full;
}

enum rttcp_ended rttcp_transfer_send_once(struct rttcp_transfer *transfer, uint64_t most, struct nc_error *error)
{
    enum rttcp_ended ended = ENDED_N;
    size_t want = rttcp_transfer_next_write(transfer, most, &ended);
    if (want == 0)
        return ended;
    if (!may_write(transfer)) {
        errno = EAGAIN;
        return may_go_on(transfer, "the receiver took nothing", error);
    }
    ssize_t n = send_some(transfer, &want);
    transfer->calls++;
    transfer->full = n < (ssize_t)want;
    if (n > 0) {
        add_moved(transfer, (size_t)n);
        transfer->idle_since_ns = 0;
        return ENDED_N;
    }
    return may_go_on(transfer, "the receiver took nothing", error);
}

static void set_lowat(struct rttcp_transfer *transfer, uint64_t bytes)
{
    int lowat = (int)bytes;
    if (bytes == transfer->lowat_bytes || setsockopt(transfer->fd, SOL_SOCKET, SO_RCVLOWAT, &lowat, sizeof lowat) < 0)
        return;
    transfer->lowat_bytes = bytes;
}

/* The time between two wake-ups of the receiver. It is longer without copying, where one read may take any number of
 * bytes. The limit of a 64th of the round-trip time is short enough not to change the window that TCP offers. */
static uint64_t wake_ns(const struct rttcp_transfer *transfer)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (!transfer->params->skip_rx_copy || getsockopt(transfer->fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
        return WAKE_NS;
    uint64_t share = (uint64_t)info.tcpi_rcv_rtt * NC_NS_PER_US / 64;
    return share < WAKE_NS ? WAKE_NS : share > WAKE_MAX_NS ? WAKE_MAX_NS : share;
}

/* Sets SO_RCVLOWAT so that this thread wakes up once per wake_ns() and not for each packet, when packets arrive faster
 * than that. With --window it does nothing, because unread octets reduce the offered window. A read that returns less
 * than the low-water mark was ended by its slice: the path has slowed down, so the mark becomes 1 again. The mark is at
 * most half of the buffer, so that the other half can fill meanwhile. */
static void tune_wakeups(struct rttcp_transfer *transfer, size_t got)
{
    uint64_t calls = transfer->calls - transfer->tuned_calls;
    bool slower = got < transfer->lowat_bytes;
    if (transfer->params->window_bytes || (calls < TUNE_CALLS && !slower))
        return;
    uint64_t now = nc_now_ns(), elapsed = now - transfer->tuned_ns, moved = rttcp_transfer_moved(transfer);
    uint64_t wake = wake_ns(transfer),
             most = transfer->params->skip_rx_copy ? LOWAT_UNCOPIED_MAX : transfer->buffer_size / 2;
    uint64_t a_wake = elapsed ? (moved - transfer->tuned_bytes) * wake / elapsed : 1;
    if (slower || elapsed > 2 * wake * calls)
        set_lowat(transfer, 1);
    else if (elapsed < wake * calls / 2)
        set_lowat(transfer, a_wake < 1 ? 1 : a_wake > most ? most : a_wake);
    transfer->tuned_ns = now;
    transfer->tuned_bytes = moved;
    transfer->tuned_calls = transfer->calls;
}

static void take_in(struct rttcp_transfer *transfer, size_t n)
{
    if (rttcp_transfer_moved(transfer) == 0) {
        transfer->tuned_ns = nc_now_ns();
        transfer->first_byte_ns = transfer->tuned_ns - transfer->t0_ns;
    }
    if (transfer->verify)
        rttcp_verify_received(transfer->verify, rttcp_transfer_moved(transfer), transfer->buffer, n);
    add_moved(transfer, n);
    if (transfer->params->window_bytes && rttcp_window_hold(transfer->fd, transfer->params->window_bytes))
        transfer->window_clamp_resets++;
    tune_wakeups(transfer, n);
}

enum rttcp_ended rttcp_transfer_receive_once(struct rttcp_transfer *transfer, struct nc_error *error)
{
    if (cancelled(transfer)) {
        nc_fail(error, NC_EXIT_FAILED, "data connection: given up");
        return ENDED_ERROR;
    }
    ssize_t n = transfer->params->skip_rx_copy ? recv(transfer->fd, transfer->buffer, READ_UNCOPIED, MSG_TRUNC)
                                               : recv(transfer->fd, transfer->buffer, transfer->buffer_size, 0);
    transfer->calls++;
    if (n > 0) {
        take_in(transfer, (size_t)n);
        transfer->idle_since_ns = 0;
        return ENDED_N;
    }
    if (n == 0) {
        transfer->last_byte_ns = nc_now_ns() - transfer->t0_ns;
        return ENDED_BYTES;
    }
    return may_go_on(transfer, "nothing arrived", error);
}
