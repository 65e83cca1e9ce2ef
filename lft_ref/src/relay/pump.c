/* Moves octets between sockets and streams, a bounded number per turn. They go from the socket straight into the
 * stream's send queue, and from frame buffers straight into the socket: the relay has no buffer of its own. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "host_socket.h"
#include "relay_internal.h"

enum { PIECES_IN = 32 /* blocks */, PIECES_OUT = 128 /* frames */, TURN = 1 << 18 };

/* Call this when a socket has failed by RST, time-out or ICMP. It reports the failure to the other end, after all data
 * that the host had sent before. */
static void socket_failed(struct relay_connection *connection, int error)
{
    struct lft_result result =
        error == EPIPE ? (struct lft_result){.code = LFT_RESULT_RESET} : host_socket_result(error);
    connection->relay->counters.resets_in++;
    lft_stream_fail(connection->stream, &result);
    connection_end(connection, NULL, false);
}

enum pumped { PUMP_IDLE, PUMP_MORE, PUMP_HELD, PUMP_ENDED };

static size_t total(const struct iovec *pieces, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

/* Copies octets that were read already into the stream. False: some did not fit; LFT_EVENT_WRITABLE resumes the
 * copy. */
static bool write_early(struct relay_connection *c)
{
    size_t written = c->early_bytes ? lft_stream_write(c->stream, c->early, c->early_bytes) : 0;
    c->early += written;
    c->early_bytes -= written;
    c->relay->counters.bytes_in += written;
    return !c->early_bytes;
}

/* The errno of a failed socket, after a read that returned no octets; 0: it has not failed. A failed write clears the
 * socket's error, so the last read looks as after a FIN; only EPIPE on a further write shows that there was an
 * error. */
static int read_error(const struct relay_connection *c, ssize_t got)
{
    if (got < 0 && errno != EAGAIN && errno != EINTR)
        return errno;
    return got < 0 || (got == 0 && c->write_error != EPIPE) ? c->write_error : 0;
}

/* From the socket to the stream. */
static enum pumped pump_in(struct relay_connection *c, uint64_t now_ns)
{
    size_t moved = 0;
    if (!write_early(c))
        return PUMP_IDLE;
    while (c->readable && !c->in_done && !c->queue_full) {
        struct iovec pieces[PIECES_IN];
        int n = lft_stream_write_space(c->stream, pieces, PIECES_IN);
        c->queue_full = !n;
        if (!n)
            return PUMP_IDLE; /* LFT_EVENT_WRITABLE resumes the copy; until then TCP's own flow control stops the
                               * host */
        if (moved >= TURN)
            return PUMP_MORE;
        ssize_t got = readv(c->source.fd, pieces, n);
        int error = read_error(c, got);
        if (error) {
            socket_failed(c, error);
            return PUMP_ENDED;
        }
        if (got == 0) {
            lft_stream_finish(c->stream);
            c->in_done = true;
        } else if (got > 0) {
            lft_stream_wrote(c->stream, (size_t)got);
            moved += (size_t)got;
            c->active_ns = now_ns;
            c->relay->counters.bytes_in += (size_t)got;
        }
        if (got < 0 || (got > 0 && (size_t)got < total(pieces, n) && !c->hangup))
            c->readable = false; /* but after a hang-up, which triggers no further edge, read on to the end */
    }
    return PUMP_IDLE;
}

/* Shortens the pieces to `most` octets in all and returns how many pieces remain. */
static int cut(struct iovec *pieces, int n, size_t most)
{
    for (int i = 0; i < n; most -= pieces[i++].iov_len)
        if (pieces[i].iov_len >= most) {
            pieces[i].iov_len = most;
            return i + 1;
        }
    return n;
}

/* From the stream to the socket. */
static enum pumped pump_out(struct relay_connection *c, uint64_t now_ns)
{
    struct relay *relay = c->relay;
    size_t moved = 0;
    while (c->writable && !c->out_done && !c->write_error) {
        struct iovec pieces[PIECES_OUT];
        int n = lft_stream_read_view(c->stream, pieces, PIECES_OUT);
        if (n <= 0)
            return PUMP_IDLE;
        if (!lft_shaper_ready(&relay->host, now_ns))
            return PUMP_HELD;
        if (moved >= TURN)
            return PUMP_MORE;
        if (relay->host.rate_bps)
            n = cut(pieces, n, RELAY_SHAPER_FRAME);
        ssize_t put = writev(c->source.fd, pieces, n);
        if (put < 0 && errno != EAGAIN && errno != EINTR) {
            c->write_error = errno;
            /* the error does not stop reading: everything that the host sent before must still be read */
            c->readable = c->hangup = true;
            return PUMP_MORE;
        }
        if (put < (ssize_t)total(pieces, n))
            c->writable = false;
        if (put > 0) {
            lft_stream_consumed(c->stream, (size_t)put, now_ns);
            lft_shaper_sent(&relay->host, (uint32_t)put, now_ns);
            moved += (size_t)put;
            c->active_ns = now_ns;
            relay->counters.bytes_out += (size_t)put;
        }
    }
    return PUMP_IDLE;
}

/* The errno of a socket that is not read any more, because end of file was read or the other host has failed; 0: it has
 * not failed. No read would report the failure, and there may be no write that would. */
static int error_behind_end(const struct relay_connection *c)
{
    int error = c->write_error;
    socklen_t size = sizeof error;
    if (!c->in_done && lft_stream_is_read(c->stream))
        return 0;
    if (!error && c->broken)
        getsockopt(c->source.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

void pump(struct relay_connection *c, uint64_t now_ns)
{
    enum pumped in = pump_in(c, now_ns);
    if (in == PUMP_ENDED)
        return;
    enum pumped out = pump_out(c, now_ns);
    int error = error_behind_end(c);
    if (error) {
        socket_failed(c, error);
        return;
    }
    if (c->end_seen && !c->out_done) {
        shutdown(c->source.fd, SHUT_WR);
        c->out_done = true;
    }
    if (c->failed_seen) {
        connection_begin_last_words(c);
        last_words(c, now_ns);
    } else if (c->in_done && c->out_done)
        connection_end(c, NULL, false);
    else if (in == PUMP_MORE || out == PUMP_MORE)
        connection_enqueue(c);
    else if (out == PUMP_HELD)
        relay_hold(c);
}

void pump_early(struct relay_connection *connection, uint64_t now_ns)
{
    if (pump_in(connection, now_ns) == PUMP_MORE)
        connection_enqueue(connection);
}
