#include "rr_io.h"

#include <sys/socket.h>

#include "nc_clock.h"
#include "nc_range.h"

static enum rttcp_ended fail(struct nc_error *error, const char *text)
{
    nc_fail(error, NC_EXIT_FAILED, "data connection: %s", text);
    return ENDED_ERROR;
}

static enum rttcp_ended may_go_on(struct rttcp_transfer *transfer, const char *what, struct nc_error *error)
{
    return rttcp_transfer_may_retry(transfer, &transfer->idle_since_ns, what, error) ? ENDED_N : ENDED_ERROR;
}

static enum rttcp_ended account(struct rttcp_transfer *transfer, size_t bytes, struct nc_error *error)
{
    struct rttcp_rr *rr = transfer->rr;
    uint64_t now = nc_now_ns();
    transfer->idle_since_ns = 0;
    if (!transfer->first_byte_ns)
        transfer->first_byte_ns = now - transfer->t0_ns;
    if (!rttcp_rr_moved(rr, bytes, now))
        return fail(error, rr->client ? "the receiver sent more than the response that was asked for (--response)"
                                      : "the sender did not await the response to its request (--request)");
    atomic_store_explicit(&transfer->bytes, rr->exchanges * rr->request_bytes, memory_order_relaxed);
    rttcp_transfer_note_waiting(transfer, rttcp_rr_sends(rr) ? rr->left_bytes : 0);
    return ENDED_N;
}

static enum rttcp_ended send_message(struct rttcp_transfer *transfer, struct nc_error *error)
{
    size_t want = (size_t)nc_min(transfer->rr->left_bytes, transfer->buffer_size);
    ssize_t n = send(transfer->fd, transfer->buffer, want, MSG_NOSIGNAL);
    transfer->calls++;
    return n > 0 ? account(transfer, (size_t)n, error) : may_go_on(transfer, "the peer took nothing", error);
}

/* Reads more than the message has left, so that octets beyond it are detected at once. */
static enum rttcp_ended receive_message(struct rttcp_transfer *transfer, struct nc_error *error)
{
    ssize_t n = recv(transfer->fd, transfer->buffer, transfer->buffer_size, 0);
    transfer->calls++;
    if (n > 0)
        return account(transfer, (size_t)n, error);
    if (n < 0)
        return may_go_on(transfer, "nothing arrived", error);
    if (transfer->rr->client)
        return fail(error, "the receiver closed it before its response was whole");
    return rttcp_rr_between(transfer->rr) ? ENDED_BYTES
                                          : fail(error, "the sender closed it in the middle of a request");
}

enum rttcp_ended rttcp_rr_once(struct rttcp_transfer *transfer, struct nc_error *error)
{
    const struct rttcp_rr *rr = transfer->rr;
    enum rttcp_ended ended = ENDED_N;
    if (atomic_load_explicit(&transfer->orders->cancel, memory_order_relaxed))
        return fail(error, "given up");
    if (rr->client && rttcp_rr_between(rr) && !rttcp_transfer_next_write(transfer, rr->request_bytes, &ended))
        return ended;
    return rttcp_rr_sends(rr) ? send_message(transfer, error) : receive_message(transfer, error);
}

enum rttcp_ended rttcp_rr_close(struct rttcp_transfer *transfer, enum rttcp_ended ended, struct nc_error *error)
{
    enum rttcp_ended wait = ENDED_N;
    if (ended == ENDED_ERROR || atomic_load(&transfer->orders->cancel))
        return ended;
    shutdown(transfer->fd, SHUT_WR);
    while (transfer->rr->client && wait == ENDED_N) {
        ssize_t n = recv(transfer->fd, transfer->buffer, transfer->buffer_size, 0);
        if (n > 0)
            return fail(error, "the receiver sent octets after its last response (--response)");
        if (n == 0)
            break;
        wait = may_go_on(transfer, "the receiver did not close it", error);
    }
    return wait == ENDED_ERROR ? wait : ended;
}
