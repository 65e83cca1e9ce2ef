/* The relay as a whole: its turn, the session's events, time limits. */
#include "relay.h"

#include <stdlib.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "primitives.h"
#include "proxy_request.h"
#include "relay_internal.h"

/* Memory for the maximum number of connections. A connection that has ended keeps its memory until the end of the
 * turn. */
static bool reserve(struct relay *relay)
{
    size_t most = 2 * relay->settings.sessions_max;
    return nc_slots_init(&relay->connections, sizeof(struct relay_connection), most) == 0 &&
           nc_slots_init(&relay->requests, sizeof(struct proxy_request), most) == 0;
}

struct relay *relay_create(const struct relay_settings *settings, struct loop *loop, struct lft_session *session)
{
    struct relay *relay = calloc(1, sizeof *relay);
    if (!relay)
        return NULL;
    relay->settings = *settings;
    relay->loop = loop;
    relay->session = session;
    lft_random(&relay->secret, sizeof relay->secret);
    relay->secret |= 1;
    relay->work.end = &relay->work.first;
    relay->held.end = &relay->held.first;
    relay->waiting.end = &relay->waiting.first;
    relay->last.end = &relay->last.first;
    lft_shaper_init(&relay->host, settings->host_rate_bps, settings->burst_ns, RELAY_SHAPER_FRAME, loop_now_ns(loop));
    relay->bypassed = true; /* nothing is accelerated before the tunnel is up */
    relay->spare = -1;
    relay_keep_spare(relay);
    relay->half_open = shares_create(settings->half_open_max);
    relay->sockets = shares_create(settings->sessions_max);
    relay->places = shares_create(settings->sessions_max);
    relay->resolver = resolver_create(loop, relay_far_resolved, NULL);
    relay->local = settings->proxy_bypass ? relay_local_create(settings->sessions_max) : NULL;
    if (reserve(relay) && relay->half_open && relay->places && relay->sockets && relay->resolver &&
        (relay->local || !settings->proxy_bypass))
        return relay;
    relay_destroy(relay);
    return NULL;
}

void relay_destroy(struct relay *relay)
{
    if (!relay)
        return;
    relay_end_all(relay, LFT_RESULT_STOPPED);
    if (relay->resolver)
        resolver_destroy(relay->resolver);
    relay_local_destroy(relay->local);
    shares_destroy(relay->half_open);
    shares_destroy(relay->places);
    shares_destroy(relay->sockets);
    relay_release_spare(relay);
    loop_bury(relay->loop);
    nc_slots_destroy(&relay->connections);
    nc_slots_destroy(&relay->requests);
    free(relay);
}

void relay_end_all(struct relay *relay, unsigned result_code)
{
    const struct lft_result result = {.code = (uint8_t)result_code};
    while (relay->first)
        connection_end(relay->first, &result, true);
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
    if (events & LFT_EVENT_WRITABLE)
        connection->queue_full = false;
    if (events & LFT_EVENT_END)
        connection->end_seen = true;
    if (events & LFT_EVENT_FAILED)
        connection->failed_seen = true;
    connection_enqueue(connection);
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
    case RELAY_OPENING:
        if (connection->source.fd >= 0 && connection->stream)
            pump_early(connection, now_ns);
        break;
    case RELAY_LAST_WORDS:
        last_words(connection, now_ns);
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

/* Handles the connections queued now. Those queued meanwhile wait for the next turn. */
static void work(struct relay *relay, uint64_t now_ns)
{
    if (lft_shaper_ready(&relay->host, now_ns))
        relay_end_hold(relay);
    if (now_ns >= relay->last_ns)
        relay_end_look(relay);
    for (size_t n = length(&relay->work); n && relay->work.first; n--) {
        struct relay_connection *connection = relay->work.first;
        relay_dequeue(connection);
        work_on(connection, now_ns);
    }
    if (relay->host.rate_bps)
        lft_shaper_left(&relay->host, nc_now_ns());
}

bool relay_turn(struct relay *relay, uint64_t now_ns)
{
    collect_events(relay, now_ns);
    work(relay, now_ns);
    bool moved = relay->local && relay_local_move(relay->local, now_ns);
    collect_events(relay, now_ns); /* moving octets may have ended streams */
    return moved || relay->work.first;
}

uint64_t relay_next_ns(const struct relay *relay)
{
    uint64_t held = relay->held.first ? lft_shaper_next_ns(&relay->host) : UINT64_MAX;
    uint64_t last = relay->last.first ? relay->last_ns : UINT64_MAX;
    return nc_min(nc_min(held, last), relay->local ? relay_local_next_ns(relay->local) : UINT64_MAX);
}

void relay_tick(struct relay *relay, uint64_t now_ns)
{
    const struct lft_result idle = {.code = LFT_RESULT_IDLE};
    resolver_tick(relay->resolver, now_ns);
    relay_keep_spare(relay);
    for (struct relay_connection *c = relay->first, *next; c; c = next) {
        next = c->next;
        if (c->phase == RELAY_LAST_WORDS) {
            connection_enqueue(c);
        } else if (c->phase != RELAY_OPEN && now_ns > c->deadline_ns) {
            relay->counters.half_open_expired++;
            connection_expire(c);
        } else if (c->phase == RELAY_OPEN && relay->settings.idle_ns &&
                   now_ns > c->active_ns + relay->settings.idle_ns) {
            relay->counters.idle_closed++;
            connection_end(c, &idle, true);
        }
    }
}

void relay_drain(struct relay *relay)
{
    relay->draining = true;
}

size_t relay_connections(const struct relay *relay)
{
    return relay->n;
}

size_t relay_half_open(const struct relay *relay)
{
    return shares_count(relay->half_open);
}

const struct relay_counters *relay_counters(const struct relay *relay)
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
