/* Octets between sockets and streams, a bounded turn at a time. */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "relay_internal.h"

enum { PIECES_IN = 32 /* blocks */, PIECES_OUT = 128 /* frames */, TURN = 1 << 18 };

/* --- who has something to do --------------------------------------------------------------------------------------------------- */

static void append(struct work_list *list, struct relay_connection *connection)
{
    if (connection->queued || connection->ended)
        return;
    connection->queued = true;
    connection->next_work = NULL;
    *list->end = connection;
    list->end = &connection->next_work;
}

void relay_enqueue(struct relay_connection *connection)
{
    append(&connection->relay->work, connection);
}

static bool take_out(struct work_list *list, struct relay_connection *connection)
{
    struct relay_connection **at = &list->first;
    while (*at && *at != connection)
        at = &(*at)->next_work;
    if (!*at)
        return false;
    *at = connection->next_work;
    if (list->end == &connection->next_work)
        list->end = at;
    connection->queued = false;
    return true;
}

void relay_dequeue(struct relay_connection *connection)
{
    struct relay *relay = connection->relay;
    if (connection->queued && !take_out(&relay->work, connection) && !take_out(&relay->held, connection))
        take_out(&relay->waiting, connection);
}

static void move_to_work(struct relay *relay, struct work_list *list)
{
    if (!list->first)
        return;
    *relay->work.end = list->first;
    relay->work.end = list->end;
    *list = (struct work_list){NULL, &list->first};
}

void relay_wait_for_end(struct relay_connection *connection)
{
    append(&connection->relay->waiting, connection);
}

void relay_end_wait(struct relay *relay)
{
    move_to_work(relay, &relay->waiting);
}

/* --- moving -------------------------------------------------------------------------------------------------------------------- */

/* The socket broke: RST, time-out, ICMP. Tell the other end. */
static void socket_failed(struct relay_connection *connection, int error)
{
    struct lft_result result = error == ECONNRESET || error == EPIPE ? (struct lft_result){.code = LFT_RESULT_RESET} : relay_result_of(error);
    connection->relay->counters.resets_in++;
    connection_end(connection, &result, false);
}

enum pumped { PUMP_IDLE, PUMP_MORE, PUMP_HELD, PUMP_ENDED };

static size_t total(const struct iovec *pieces, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += pieces[i].iov_len;
    return bytes;
}

/* Socket → stream. */
static enum pumped pump_in(struct relay_connection *c, uint64_t now_ns)
{
    size_t moved = 0;
    while (c->readable && !c->in_done) {
        struct iovec pieces[PIECES_IN];
        int n = lft_stream_write_space(c->stream, pieces, PIECES_IN);
        if (!n)
            return PUMP_IDLE; /* LFT_EVENT_WRITABLE brings us back; TCP's own window closes meanwhile */
        if (moved >= TURN)
            return PUMP_MORE;
        ssize_t got = readv(c->source.fd, pieces, n);
        if (got < 0 && errno != EAGAIN && errno != EINTR) {
            socket_failed(c, errno);
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
            c->readable = false; /* behind a hang-up there is no further edge: then read on to the end */
    }
    return PUMP_IDLE;
}

/* Stream → socket. */
static enum pumped pump_out(struct relay_connection *c, uint64_t now_ns)
{
    struct relay *relay = c->relay;
    size_t moved = 0;
    while (c->writable && !c->out_done) {
        struct iovec pieces[PIECES_OUT];
        int n = lft_stream_read_view(c->stream, pieces, PIECES_OUT);
        if (!n)
            return PUMP_IDLE;
        if (!lft_shaper_ready(&relay->host, now_ns))
            return PUMP_HELD;
        if (moved >= TURN)
            return PUMP_MORE;
        ssize_t put = writev(c->source.fd, pieces, n);
        if (put < 0 && errno != EAGAIN && errno != EINTR) {
            socket_failed(c, errno);
            return PUMP_ENDED;
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

/* A reset behind the end of data is no more to be read, and there may be nothing to write that would meet it. */
static bool broken_behind_end(const struct relay_connection *c, int *error)
{
    socklen_t size = sizeof *error;
    *error = 0;
    return c->broken && c->in_done && getsockopt(c->source.fd, SOL_SOCKET, SO_ERROR, error, &size) == 0 && *error;
}

static void pump(struct relay_connection *c, uint64_t now_ns)
{
    int error;
    if (broken_behind_end(c, &error)) {
        socket_failed(c, error);
        return;
    }
    enum pumped in = pump_in(c, now_ns);
    if (in == PUMP_ENDED)
        return;
    enum pumped out = pump_out(c, now_ns);
    if (out == PUMP_ENDED)
        return;
    if (c->end_seen && !c->out_done) {
        shutdown(c->source.fd, SHUT_WR);
        c->out_done = true;
    }
    if (c->in_done && c->out_done)
        connection_end(c, NULL, false);
    else if (in == PUMP_MORE || out == PUMP_MORE)
        relay_enqueue(c);
    else if (out == PUMP_HELD)
        append(&c->relay->held, c);
}

static void work_on(struct relay_connection *connection, uint64_t now_ns)
{
    switch (connection->phase) {
    case RELAY_OPEN:
        pump(connection, now_ns);
        break;
    case RELAY_CONNECTING:
        if (connection->source.fd < 0)
            relay_far_begin(connection);
        else if (connection->writable)
            relay_far_writable(connection);
        break;
    case RELAY_GREETING:
        if (connection->readable)
            connection->answered(connection, NULL);
        break;
    case RELAY_OPENING: /* what the client sends at once travels with the OPEN */
        if (connection->source.fd >= 0 && connection->stream && pump_in(connection, now_ns) == PUMP_MORE)
            relay_enqueue(connection);
        break;
    case RELAY_RESOLVING:
    case RELAY_PHASES:
        break;
    }
}

static size_t length(const struct work_list *list)
{
    size_t n = 0;
    for (const struct relay_connection *c = list->first; c; c = c->next_work)
        n++;
    return n;
}

void relay_work(struct relay *relay, uint64_t now_ns)
{
    if (lft_shaper_ready(&relay->host, now_ns))
        move_to_work(relay, &relay->held);
    for (size_t n = length(&relay->work); n && relay->work.first; n--) {
        struct relay_connection *connection = relay->work.first;
        take_out(&relay->work, connection);
        work_on(connection, now_ns);
    }
}
