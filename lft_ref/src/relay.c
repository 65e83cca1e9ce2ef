#include "relay.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "shaper.h"

enum { PIECES = 64, TURN = 1 << 18 };
#define SHAPER_FRAME 65536 /* what one writev to a host may be long */

struct work_list { struct relay_connection *first, **end; };

struct relay {
    struct relay_settings settings;
    struct loop *loop;
    struct lft_session *session;
    struct relay_resolver *resolver;
    struct relay_connection *first;
    struct work_list work, held; /* held: until the host rate allows more */
    struct lft_shaper host;
    size_t n, half_open;
    bool draining;
    struct relay_counters counters;
};

struct relay *relay_create(const struct relay_settings *settings, struct loop *loop, struct lft_session *session)
{
    struct relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return NULL;
    relay->settings = *settings;
    relay->loop = loop;
    relay->session = session;
    relay->work.end = &relay->work.first;
    relay->held.end = &relay->held.first;
    lft_shaper_init(&relay->host, settings->host_rate_bps, SHAPER_FRAME, loop_now_ns(loop));
    relay->resolver = resolver_create(relay);
    if (!relay->resolver) {
        free(relay);
        return NULL;
    }
    return relay;
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    relay_end_all(relay, LFT_RESULT_STOPPED);
    resolver_destroy(relay->resolver);
    free(relay);
}

void relay_end_all(struct relay *relay, unsigned result_code)
{
    const struct lft_result result = {.code = (uint8_t)result_code};
    while (relay->first)
        connection_end(relay->first, &result, true);
}

static bool half_open(const struct relay_connection *connection)
{
    return connection->phase != RELAY_OPEN;
}

static void append(struct work_list *list, struct relay_connection *connection)
{
    if (connection->queued || connection->ended)
        return;
    connection->queued = true;
    connection->next_work = NULL;
    *list->end = connection;
    list->end = &connection->next_work;
}

static void enqueue(struct relay_connection *connection)
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

static void dequeue(struct relay_connection *connection)
{
    if (connection->queued && !take_out(&connection->relay->work, connection))
        take_out(&connection->relay->held, connection);
}

static void ready(void *owner, uint32_t events)
{
    struct relay_connection *connection = owner;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->hangup = true;
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        connection->writable = true;
    enqueue(connection);
}

struct relay_connection *connection_create(struct relay *relay, int fd, enum relay_phase phase, bool near)
{
    struct relay_connection *connection = NULL;
    if (relay->n < relay->settings.sessions_max && relay->half_open < relay->settings.half_open_max)
        connection = calloc(1, sizeof *connection);
    if (!connection) {
        relay->counters.near_limited++;
        return NULL;
    }
    connection->relay = relay;
    connection->phase = phase;
    connection->near = near;
    connection->source = (struct loop_source){-1, ready, connection};
    connection->active_ns = loop_now_ns(relay->loop);
    connection->deadline_ns = connection->active_ns + relay->settings.half_open_ns;
    if (fd >= 0 && connection_attach(connection, fd) < 0) {
        free(connection);
        return NULL;
    }
    connection->next = relay->first;
    if (relay->first)
        relay->first->previous = connection;
    relay->first = connection;
    relay->n++;
    relay->half_open += half_open(connection);
    return connection;
}

int connection_attach(struct relay_connection *connection, int fd)
{
    connection->source.fd = fd;
    if (loop_add(connection->relay->loop, &connection->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) == 0)
        return 0;
    connection->source.fd = -1;
    return -1;
}

int connection_open(struct relay_connection *connection, const struct lft_open *where)
{
    connection->stream = relay_draining(connection->relay)
                             ? NULL
                             : lft_stream_open(connection->relay->session, where, connection);
    connection->phase = RELAY_OPENING;
    return connection->stream ? 0 : -1;
}

void connection_start(struct relay_connection *connection)
{
    if (half_open(connection))
        connection->relay->half_open--;
    connection->phase = RELAY_OPEN;
    connection->active_ns = loop_now_ns(connection->relay->loop);
    enqueue(connection);
}

/* So that close() sends RST in place of FIN. */
static void close_with_reset(int fd)
{
    const struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

static void unlink_connection(struct relay_connection *connection)
{
    struct relay *relay = connection->relay;
    dequeue(connection);
    *(connection->previous ? &connection->previous->next : &relay->first) = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    relay->n--;
    relay->half_open -= half_open(connection);
}

void connection_end(struct relay_connection *connection, const struct lft_result *result, bool abort)
{
    assert(!connection->ended);
    connection->ended = true;
    unlink_connection(connection);
    if (connection->phase == RELAY_RESOLVING)
        resolver_forget(connection->relay->resolver, connection);
    if (connection->stream) {
        if (result)
            lft_stream_reset(connection->stream, result);
        lft_stream_set_user(connection->stream, NULL);
        lft_stream_release(connection->stream);
    }
    if (connection->source.fd >= 0) {
        if (abort) {
            connection->relay->counters.resets_out++;
            close_with_reset(connection->source.fd);
        }
        loop_close(connection->relay->loop, &connection->source);
    }
    if (connection->gone)
        connection->gone(connection);
    if (connection->front)
        loop_later_free(connection->relay->loop, connection->front);
    loop_later_free(connection->relay->loop, connection);
}

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
        struct iovec pieces[PIECES];
        int n = lft_stream_write_space(c->stream, pieces, PIECES);
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
        struct iovec pieces[PIECES];
        int n = lft_stream_read_view(c->stream, pieces, PIECES);
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

static void pump(struct relay_connection *c, uint64_t now_ns)
{
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
        enqueue(c);
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
        if (connection->writable)
            relay_far_writable(connection);
        break;
    case RELAY_GREETING:
        if (connection->readable)
            connection->answered(connection, NULL);
        break;
    case RELAY_OPENING: /* what the client sends at once travels with the OPEN */
        if (connection->source.fd >= 0 && connection->stream && pump_in(connection, now_ns) == PUMP_MORE)
            enqueue(connection);
        break;
    case RELAY_RESOLVING:
    case RELAY_PHASES:
        break;
    }
}

static void accepted(struct relay_connection *connection)
{
    if (connection->phase != RELAY_OPENING)
        return;
    connection->relay->counters.near_accepted++;
    if (connection->answered)
        connection->answered(connection, NULL);
    else
        connection_start(connection);
}

static void reset(struct relay_connection *connection)
{
    if (connection->phase == RELAY_OPENING) {
        connection->relay->counters.near_refused++;
        if (connection->answered) {
            connection->answered(connection, lft_stream_result(connection->stream));
            return;
        }
    }
    connection_end(connection, NULL, true);
}

static void stream_event(struct relay *relay, struct lft_stream *stream, unsigned events, uint64_t now_ns)
{
    struct relay_connection *connection = lft_stream_user(stream);
    if (!connection && (events & LFT_EVENT_OPENED) && !(events & LFT_EVENT_RESET)) {
        relay_far_open(relay, stream);
        return;
    }
    if (!connection) {
        lft_stream_release(stream);
        return;
    }
    connection->active_ns = now_ns;
    if (events & LFT_EVENT_RESET) {
        reset(connection);
        return;
    }
    if (events & LFT_EVENT_ACCEPTED)
        accepted(connection);
    if (connection->ended)
        return;
    if (events & LFT_EVENT_END)
        connection->end_seen = true;
    enqueue(connection);
}

static void collect_events(struct relay *relay, uint64_t now_ns)
{
    unsigned events;
    struct lft_stream *stream;
    while ((stream = lft_session_event(relay->session, &events)))
        stream_event(relay, stream, events, now_ns);
}

static size_t length(const struct work_list *list)
{
    size_t n = 0;
    for (const struct relay_connection *c = list->first; c; c = c->next_work)
        n++;
    return n;
}

bool relay_turn(struct relay *relay, uint64_t now_ns)
{
    collect_events(relay, now_ns);
    if (relay->held.first && lft_shaper_ready(&relay->host, now_ns)) {
        *relay->work.end = relay->held.first;
        relay->work.end = relay->held.end;
        relay->held = (struct work_list){NULL, &relay->held.first};
    }
    /* only what is on the list now: what is put behind waits for the next turn */
    for (size_t n = length(&relay->work); n && relay->work.first; n--) {
        struct relay_connection *connection = relay->work.first;
        take_out(&relay->work, connection);
        work_on(connection, now_ns);
    }
    collect_events(relay, now_ns); /* consuming may have ended streams */
    return relay->work.first != NULL;
}

uint64_t relay_next_ns(const struct relay *relay)
{
    return relay->held.first ? lft_shaper_next_ns(&relay->host) : UINT64_MAX;
}

void relay_tick(struct relay *relay, uint64_t now_ns)
{
    const struct lft_result idle = {.code = LFT_RESULT_IDLE}, late = {.code = LFT_RESULT_TIMED_OUT};
    for (struct relay_connection *c = relay->first, *next; c; c = next) {
        next = c->next;
        if (half_open(c) && now_ns > c->deadline_ns) {
            relay->counters.half_open_expired++;
            if (c->phase == RELAY_CONNECTING || c->phase == RELAY_RESOLVING)
                relay_far_fail(c, late);
            else
                connection_end(c, &late, true);
        } else if (c->phase == RELAY_OPEN && relay->settings.idle_ns && now_ns > c->active_ns + relay->settings.idle_ns) {
            relay->counters.idle_closed++;
            connection_end(c, &idle, true);
        }
    }
}

void relay_drain(struct relay *relay)
{
    relay->draining = true;
}

bool relay_draining(const struct relay *relay)
{
    return relay->draining;
}

size_t relay_connections(const struct relay *relay)
{
    return relay->n;
}

size_t relay_half_open(const struct relay *relay)
{
    return relay->half_open;
}

const struct relay_counters *relay_counters(const struct relay *relay)
{
    return &relay->counters;
}

struct relay_counters *relay_count(struct relay *relay)
{
    return &relay->counters;
}

void relay_set_host_rate(struct relay *relay, uint64_t rate_bps)
{
    relay->settings.host_rate_bps = rate_bps;
    lft_shaper_set(&relay->host, rate_bps, SHAPER_FRAME, loop_now_ns(relay->loop));
}

struct lft_session *relay_session(struct relay *relay)
{
    return relay->session;
}

struct loop *relay_loop(struct relay *relay)
{
    return relay->loop;
}

struct relay_resolver *relay_resolver(struct relay *relay)
{
    return relay->resolver;
}

const struct relay_settings *relay_settings(const struct relay *relay)
{
    return &relay->settings;
}
