#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "relay_internal.h"

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
    relay->waiting.end = &relay->waiting.first;
    lft_shaper_init(&relay->host, settings->host_rate_bps, RELAY_SHAPER_FRAME, loop_now_ns(loop));
    relay->bypassed = true; /* nothing is accelerated before the tunnel is up */
    relay->resolver = resolver_create(relay);
    relay->local = settings->proxy_bypass ? relay_local_create(settings->sessions_max) : NULL;
    if (relay->resolver && (relay->local || !settings->proxy_bypass))
        return relay;
    relay_destroy(relay);
    return NULL;
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    relay_end_all(relay, LFT_RESULT_STOPPED);
    resolver_destroy(relay->resolver);
    relay_local_destroy(relay->local);
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

static void ready(void *owner, uint32_t events)
{
    struct relay_connection *connection = owner;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->readable = true;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        connection->hangup = true;
    if (events & EPOLLERR)
        connection->broken = true;
    if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
        connection->writable = true;
    relay_enqueue(connection);
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

/* Whether close() sends RST in place of FIN. */
static void set_reset_on_close(int fd, bool on)
{
    const struct linger linger = {.l_onoff = on, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

int connection_attach(struct relay_connection *connection, int fd)
{
    connection->source.fd = fd;
    if (loop_add(connection->relay->loop, &connection->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) == 0) {
        set_reset_on_close(fd, true); /* until its end in order: what a gateway that is killed leaves must not look whole */
        return 0;
    }
    connection->source.fd = -1;
    return -1;
}

/* The tunnel's, or while it is bypassed the one of no length, if the proxies may have it. */
static struct lft_session *session_for(struct relay *relay, const struct lft_open *where)
{
    bool direct = relay->local && relay->bypassed && !(where->flags & LFT_OPEN_KEEP_SOURCE);
    relay->counters.near_direct += direct;
    return direct ? relay_local_end(relay->local, 0) : relay->session;
}

int connection_open(struct relay_connection *connection, const struct lft_open *where)
{
    struct relay *relay = connection->relay;
    connection->phase = RELAY_OPENING;
    connection->stream = relay->draining ? NULL : lft_stream_open(session_for(relay, where), where, connection);
    return connection->stream ? 0 : -1;
}

void connection_start(struct relay_connection *connection)
{
    if (half_open(connection))
        connection->relay->half_open--;
    connection->phase = RELAY_OPEN;
    connection->active_ns = loop_now_ns(connection->relay->loop);
    relay_enqueue(connection);
}

static void unlink_connection(struct relay_connection *connection)
{
    struct relay *relay = connection->relay;
    relay_dequeue(connection);
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
        connection->relay->counters.resets_out += abort;
        if (!abort)
            set_reset_on_close(connection->source.fd, false);
        loop_close(connection->relay->loop, &connection->source);
        relay_end_wait(connection->relay);
    }
    if (connection->gone)
        connection->gone(connection);
    if (connection->front)
        loop_later_free(connection->relay->loop, connection->front);
    loop_later_free(connection->relay->loop, connection);
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
    relay_enqueue(connection);
}

static void events_of(struct relay *relay, struct lft_session *session, uint64_t now_ns)
{
    unsigned events;
    struct lft_stream *stream;
    while ((stream = lft_session_event(session, &events)))
        stream_event(relay, stream, events, now_ns);
}

static void collect_events(struct relay *relay, uint64_t now_ns)
{
    events_of(relay, relay->session, now_ns);
    for (unsigned end = 0; relay->local && end < RELAY_LOCAL_ENDS; end++)
        events_of(relay, relay_local_end(relay->local, end), now_ns);
}

bool relay_turn(struct relay *relay, uint64_t now_ns)
{
    collect_events(relay, now_ns);
    relay_work(relay, now_ns);
    bool moved = relay->local && relay_local_move(relay->local, now_ns);
    collect_events(relay, now_ns); /* consuming may have ended streams */
    return moved || relay->work.first;
}

uint64_t relay_next_ns(const struct relay *relay)
{
    uint64_t held = relay->held.first ? lft_shaper_next_ns(&relay->host) : UINT64_MAX;
    uint64_t local = relay->local ? relay_local_next_ns(relay->local) : UINT64_MAX;
    return held < local ? held : local;
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

void relay_set_bypassed(struct relay *relay, bool bypassed)
{
    relay->bypassed = bypassed;
}

void relay_set_host_rate(struct relay *relay, uint64_t rate_bps)
{
    relay->settings.host_rate_bps = rate_bps;
    lft_shaper_set(&relay->host, rate_bps, RELAY_SHAPER_FRAME, loop_now_ns(relay->loop));
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
