/* The opening of a sender with a window; transfer.h explains it. */
#include <errno.h>
#include <time.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "pace.h"
#include "tcpinfo.h"
#include "transfer.h"

#define OPENING_ROUNDS_MAX 64

/* Waits until everything sent is acknowledged. It sleeps for a 64th of a round trip at a time, so it does not spin and
 * is late by at most that time. */
static enum rttcp_ended await_acknowledged(struct rttcp_transfer *transfer, struct nc_error *error)
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
        if (!rttcp_transfer_may_retry(transfer, &idle_since_ns, "the receiver acknowledged nothing", error))
            return ENDED_ERROR;
        if (rttcp_transfer_next_write(transfer, 1, &ended) == 0 && ended != ENDED_BYTES)
            return ended;
        if (!rttcp_tcpinfo_take(transfer->fd, &info) || rttcp_tcpinfo_get(&info, "state") != 1) { /* TCP_ESTABLISHED */
            nc_fail(error, NC_EXIT_FAILED, "data connection: closed by the receiver");
            return ENDED_ERROR;
        }
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
    }
    return ENDED_N;
}

/* Returns the window that the peer offers now, in bytes. */
static uint64_t offer_of(int fd)
{
    struct rttcp_tcpinfo info = {0};
    rttcp_tcpinfo_take(fd, &info);
    return rttcp_tcpinfo_get(&info, "snd_wnd");
}

/* Returns the bytes that the congestion window allows in the first round trip. */
static uint64_t first_flight_of(int fd)
{
    struct rttcp_tcpinfo info = {0};
    rttcp_tcpinfo_take(fd, &info);
    return rttcp_tcpinfo_get(&info, "snd_cwnd") * rttcp_tcpinfo_get(&info, "snd_mss");
}

/* Sends up to `total` bytes in long writes, or in small ones at a low pace. ENDED_N: all were sent, and the transfer is
 * not over. */
static enum rttcp_ended send_part(struct rttcp_transfer *transfer, uint64_t total, struct nc_error *error)
{
    bool small = rttcp_pace_small(transfer);
    uint64_t left, piece = small ? transfer->write_bytes : nc_min(total, transfer->buffer_size);
    uint64_t before, end = rttcp_transfer_moved(transfer) + total;
    enum rttcp_ended ended = ENDED_N;
    while (ended == ENDED_N && (left = end - (before = rttcp_transfer_moved(transfer))) > 0) {
        ended = rttcp_transfer_send_once(transfer, nc_min(left, piece), error);
        bool more = small && rttcp_pace_rest(transfer, rttcp_transfer_moved(transfer) - before);
        while (more && ended == ENDED_N && rttcp_transfer_next_write(transfer, 1, &ended))
            more = rttcp_pace_rest(transfer, 0);
    }
    return ended;
}

enum rttcp_ended rttcp_transfer_open(struct rttcp_transfer *transfer, struct nc_error *error)
{
    enum rttcp_ended ended = ENDED_N;
    uint64_t window = transfer->params->window_bytes, flight = first_flight_of(transfer->fd);
    if (!window)
        return ENDED_N;
    flight = flight < 1 || flight > window ? window : flight;
    for (int round = 0; ended == ENDED_N && round < OPENING_ROUNDS_MAX; round++) {
        ended = send_part(transfer, flight, error);
        if (ended == ENDED_N)
            ended = await_acknowledged(transfer, error);
        uint64_t offer = offer_of(transfer->fd);
        if (offer <= window + window / 64) /* the window scale rounds up */
            break;
        flight = offer - window < window ? offer - window : window;
    }
    transfer->opening_bytes = rttcp_transfer_moved(transfer);
    /* one long write, so that the first segments are full even if later writes are short: the receiver's kernel
     * estimates the segment size from them */
    return ended == ENDED_N ? send_part(transfer, window, error) : ended;
}
