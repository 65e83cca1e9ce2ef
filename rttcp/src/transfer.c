#include "transfer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "nc_clock.h"
#include "nc_quantity.h"
#include "stop.h"
#include "tcpinfo.h"
#include "window.h"

#define OPENING_ROUNDS_MAX 64

const char *const rttcp_ended_names[] = {
    [ENDED_BYTES] = "bytes", [ENDED_DURATION] = "duration", [ENDED_SIGNAL] = "signal", [ENDED_ERROR] = "error"};
_Static_assert(sizeof rttcp_ended_names / sizeof rttcp_ended_names[0] == ENDED_N, "a name for every end");

int rttcp_transfer_prepare(struct rttcp_transfer *transfer, size_t size, struct rttcp_error *error)
{
    uint64_t state = UINT64_C(0x5eed0f1995);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return rttcp_fail(error, NC_EXIT_MISSING, "--length %zu: no memory for the buffer", size);
    transfer->buffer = memory;
    transfer->buffer_size = size;
    for (size_t i = 0; i < size; i += sizeof state) { /* splitmix64 */
        uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        memcpy(transfer->buffer + i, &z, size - i < sizeof z ? size - i : sizeof z);
    }
    return 0;
}

void rttcp_transfer_release(struct rttcp_transfer *transfer)
{
    if (transfer->buffer)
        munmap(transfer->buffer, transfer->buffer_size);
    transfer->buffer = NULL;
}

uint64_t rttcp_unacknowledged(int fd)
{
    int queued = 0;
    ioctl(fd, SIOCOUTQ, &queued);
    return (uint64_t)queued;
}

static uint64_t moved(const struct rttcp_transfer *transfer)
{
    return atomic_load_explicit(&transfer->bytes, memory_order_relaxed);
}

/* Only this thread writes the counter, so no locked addition is needed. */
static void add_moved(struct rttcp_transfer *transfer, size_t n)
{
    atomic_store_explicit(&transfer->bytes, moved(transfer) + n, memory_order_relaxed);
}

/* Whether a call that moved nothing may be repeated; *idle_since_ns is 0 when the one before moved something. */
static bool may_retry(uint64_t *idle_since_ns, const struct rttcp_params *params, const char *what,
                      struct rttcp_error *error)
{
    char text[32];
    int failed = errno;
    uint64_t now = nc_now_ns();
    if (failed != EAGAIN && failed != EINTR) {
        rttcp_fail(error, NC_EXIT_FAILED, "data connection: %s", strerror(failed));
        return false;
    }
    if (*idle_since_ns == 0)
        *idle_since_ns = now;
    if (now - *idle_since_ns < params->timeout_ns)
        return true;
    rttcp_fail(error, NC_EXIT_FAILED, "data connection: %s for %s (--timeout)", what,
               nc_quantity_format(NC_UNIT_DURATION, params->timeout_ns, text, sizeof text));
    return false;
}

/* How much the next write of at most `most` bytes may carry; 0 at the end, with the reason in *ended. */
static size_t next_write(const struct rttcp_transfer *transfer, const struct rttcp_params *params, uint64_t most,
                         enum rttcp_ended *ended)
{
    uint64_t left = params->bytes ? params->bytes - moved(transfer) : most;
    if (rttcp_stop_requested())
        *ended = ENDED_SIGNAL;
    else if (params->duration_ns && nc_now_ns() - transfer->t0_ns >= params->duration_ns)
        *ended = ENDED_DURATION;
    else if (left == 0)
        *ended = ENDED_BYTES;
    else
        return left < most ? left : most;
    return 0;
}

/* Sends up to `total` bytes in writes of at most `piece`. ENDED_N: all sent, and the transfer is not over. */
static enum rttcp_ended send_part(struct rttcp_transfer *transfer, const struct rttcp_params *params, uint64_t total,
                                  uint64_t piece, struct rttcp_error *error)
{
    piece = piece < transfer->buffer_size ? piece : transfer->buffer_size;
    enum rttcp_ended ended = ENDED_N;
    uint64_t idle_since_ns = 0, end = total == UINT64_MAX ? total : moved(transfer) + total;
    for (;;) {
        uint64_t left = end - moved(transfer);
        if (left == 0)
            return ENDED_N;
        size_t want = next_write(transfer, params, left < piece ? left : piece, &ended);
        if (want == 0)
            return ended;
        ssize_t n = send(transfer->fd, transfer->buffer, want, MSG_NOSIGNAL);
        transfer->calls++;
        if (n > 0) {
            add_moved(transfer, (size_t)n);
            idle_since_ns = 0;
        } else if (!may_retry(&idle_since_ns, params, "the receiver took nothing", error))
            return ENDED_ERROR;
    }
}

enum rttcp_ended rttcp_transfer_send(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                     struct rttcp_error *error)
{
    return send_part(transfer, params, UINT64_MAX, params->length_bytes, error);
}

/* Waits until everything sent is acknowledged; a fraction of a round trip exact, without spinning. */
static enum rttcp_ended await_acknowledged(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                           struct rttcp_error *error)
{
    enum rttcp_ended ended = ENDED_N;
    uint64_t idle_since_ns = 0, before = 0, queued;
    struct rttcp_tcpinfo info = {0};
    rttcp_tcpinfo_take(transfer->fd, &info);
    long nap_ns = (long)(rttcp_tcpinfo_get(&info, "rtt_us") * NC_NS_PER_US / 64);
    nap_ns = nap_ns < 20000 ? 20000 : nap_ns > 2000000 ? 2000000 : nap_ns;
    while ((queued = rttcp_unacknowledged(transfer->fd)) > 0) {
        if (queued != before)
            idle_since_ns = 0;
        before = queued;
        errno = EAGAIN;
        if (!may_retry(&idle_since_ns, params, "the receiver acknowledged nothing", error))
            return ENDED_ERROR;
        if (next_write(transfer, params, 1, &ended) == 0 && ended != ENDED_BYTES)
            return ended;
        if (!rttcp_tcpinfo_take(transfer->fd, &info) || rttcp_tcpinfo_get(&info, "state") != 1) { /* TCP_ESTABLISHED */
            rttcp_fail(error, NC_EXIT_FAILED, "data connection: closed by the receiver");
            return ENDED_ERROR;
        }
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
    }
    return ENDED_N;
}

/* What the peer offers now, and what the congestion window lets out in the first round trip; bytes. */
static uint64_t offer_of(int fd)
{
    struct rttcp_tcpinfo info = {0};
    rttcp_tcpinfo_take(fd, &info);
    return rttcp_tcpinfo_get(&info, "snd_wnd");
}

static uint64_t first_flight_of(int fd)
{
    struct rttcp_tcpinfo info = {0};
    rttcp_tcpinfo_take(fd, &info);
    return rttcp_tcpinfo_get(&info, "snd_cwnd") * rttcp_tcpinfo_get(&info, "snd_mss");
}

enum rttcp_ended rttcp_transfer_open(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                     struct rttcp_error *error)
{
    enum rttcp_ended ended = ENDED_N;
    uint64_t window = params->window_bytes, flight = first_flight_of(transfer->fd);
    if (!window)
        return ENDED_N;
    flight = flight < 1 || flight > window ? window : flight;
    for (int round = 0; ended == ENDED_N && round < OPENING_ROUNDS_MAX; round++) {
        ended = send_part(transfer, params, flight, flight, error);
        if (ended == ENDED_N)
            ended = await_acknowledged(transfer, params, error);
        uint64_t offer = offer_of(transfer->fd);
        if (offer <= window + window / 64) /* the window scale rounds up */
            break;
        flight = offer - window < window ? offer - window : window;
    }
    transfer->opening_bytes = moved(transfer);
    /* full segments from the start, however short the writes are: the receiver's kernel judges by the first ones */
    return ended == ENDED_N ? send_part(transfer, params, window, window, error) : ended;
}

enum rttcp_ended rttcp_transfer_receive(struct rttcp_transfer *transfer, const struct rttcp_params *params,
                                        struct rttcp_error *error)
{
    uint64_t idle_since_ns = 0;
    while (!rttcp_stop_requested()) {
        ssize_t n = recv(transfer->fd, transfer->buffer, transfer->buffer_size, 0);
        transfer->calls++;
        if (n == 0)
            return ENDED_BYTES;
        if (n < 0) {
            if (!may_retry(&idle_since_ns, params, "nothing arrived", error))
                return ENDED_ERROR;
            continue;
        }
        if (moved(transfer) == 0)
            transfer->first_byte_ns = nc_now_ns() - transfer->t0_ns;
        add_moved(transfer, (size_t)n);
        idle_since_ns = 0;
        if (params->window_bytes && rttcp_window_hold(transfer->fd, params->window_bytes))
            transfer->window_clamp_resets++;
    }
    rttcp_fail(error, NC_EXIT_FAILED, "the receiver was stopped by a signal");
    return ENDED_SIGNAL;
}
