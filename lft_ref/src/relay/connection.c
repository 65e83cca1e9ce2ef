/* The life of connections. */
#include "connection.h"

#include <assert.h>
#include <string.h>
#include <sys/epoll.h>

#include "host_socket.h"
#include "relay_internal.h"

enum { LOOKED_AT = 16 };

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
    connection_enqueue(connection);
}

static void link_connection(struct relay *relay, struct relay_connection *connection)
{
    connection->next = relay->first;
    if (relay->first)
        relay->first->previous = connection;
    relay->first = connection;
    relay->n++;
}

static void unlink_connection(struct relay_connection *connection)
{
    struct relay *relay = connection->relay;
    relay_dequeue(connection);
    *(connection->previous ? &connection->previous->next : &relay->first) = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    relay->n--;
    shares_remove(relay->half_open, &connection->half_open);
    shares_remove(relay->places, &connection->place);
}

static struct relay_connection *owner_of(struct share_entry *entry, size_t at)
{
    return (struct relay_connection *)((uint8_t *)entry - at);
}

/* Examines only a few of the oldest connections, because a search through all would cost too much. The examined
 * connections become the newest of their source, so that the next call examines others. */
void connection_end_idle(struct shares *shares, size_t at, const struct share_key *newcomer)
{
    const struct lft_result full = {.code = LFT_RESULT_NO_RESOURCES};
    struct relay_connection *idlest = owner_of(shares_oldest(shares, newcomer), at);
    for (int i = 0; i < LOOKED_AT; i++) {
        struct share_entry *entry = shares_oldest(shares, newcomer);
        struct relay_connection *next = owner_of(entry, at);
        shares_renew(entry);
        if (next->active_ns < idlest->active_ns)
            idlest = next;
    }
    if (idlest->phase == RELAY_OPEN)
        connection_end(idlest, &full, true);
    else
        connection_expire(idlest);
}

/* False: the limit of connections is reached, and no source has more of them than this one. */
static bool find_place(struct relay *relay, const struct share_key *source)
{
    if (!shares_victim(relay->places, source))
        return true;
    if (!shares_has_heavier(relay->places, source))
        return false;
    relay->counters.places_evicted++;
    connection_end_idle(relay->places, offsetof(struct relay_connection, place), source);
    return true;
}

static void make_room(struct relay *relay, const struct share_key *newcomer)
{
    struct share_entry *victim = shares_victim(relay->half_open, newcomer);
    if (!victim)
        return;
    relay->counters.half_open_evicted++;
    connection_expire(owner_of(victim, offsetof(struct relay_connection, half_open)));
}

struct relay_connection *connection_create(struct relay *relay, int fd, enum relay_phase phase,
                                           const struct share_key *source)
{
    struct relay_connection *connection = find_place(relay, source) ? nc_slots_take(&relay->connections) : NULL;
    if (connection) {
        memset(connection, 0, sizeof *connection);
        make_room(relay, source);
    }
    if (!connection || !shares_add(relay->half_open, &connection->half_open, source) ||
        !shares_add(relay->places, &connection->place, source)) {
        if (connection)
            shares_remove(relay->half_open, &connection->half_open);
        nc_slots_give(connection);
        relay->counters.near_limited++;
        return NULL;
    }
    connection->relay = relay;
    connection->from = *source;
    connection->phase = phase;
    connection->source = (struct loop_source){.fd = -1, .ready = ready, .owner = connection};
    connection->active_ns = loop_now_ns(relay->loop);
    connection->deadline_ns = connection->active_ns + relay->settings.half_open_ns;
    if (fd >= 0 && connection_attach(connection, fd) < 0) {
        shares_remove(relay->half_open, &connection->half_open);
        shares_remove(relay->places, &connection->place);
        nc_slots_give(connection);
        return NULL;
    }
    link_connection(relay, connection);
    return connection;
}

int connection_attach(struct relay_connection *connection, int fd)
{
    connection->source.fd = fd;
    if (loop_add(connection->relay->loop, &connection->source, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) == 0) {
        /* close() sends RST until the connection has ended normally, so that data cut off by a killed gateway do not
         * look complete. */
        host_socket_reset_on_close(fd, true);
        shares_add(connection->relay->sockets, &connection->socket, &connection->from);
        return 0;
    }
    connection->source.fd = -1;
    return -1;
}

/* The session in which to open a stream: the tunnel's, or the local session for a proxy's connection while the tunnel
 * is bypassed, if that is allowed. */
static struct lft_session *session_for(struct relay *relay, const struct lft_open *where)
{
    bool direct = relay->local && relay->bypassed && !(where->flags & LFT_OPEN_KEEP_SOURCE);
    relay->counters.near_direct += direct;
    return direct ? relay_local_end(relay->local, 0) : relay->session;
}

int connection_open(struct relay_connection *connection, const struct lft_open *where)
{
    struct relay *relay = connection->relay;
    struct lft_open asked = *where;
    /* the far gateway needs the client's number, because it also shares its connections among clients */
    if (!(asked.flags & LFT_OPEN_KEEP_SOURCE))
        asked.source_port = shares_number(&connection->place, relay->secret);
    connection->phase = RELAY_OPENING;
    connection->stream = relay->draining ? NULL : lft_stream_open(session_for(relay, where), &asked, connection);
    return connection->stream ? 0 : -1;
}

void connection_start(struct relay_connection *connection)
{
    shares_remove(connection->relay->half_open, &connection->half_open);
    connection->phase = RELAY_OPEN;
    connection->active_ns = loop_now_ns(connection->relay->loop);
    connection_enqueue(connection);
}

static void release_stream(struct relay_connection *connection, const struct lft_result *result)
{
    if (result)
        lft_stream_reset(connection->stream, result);
    lft_stream_set_user(connection->stream, NULL);
    lft_stream_release(connection->stream);
}

void connection_begin_last_words(struct relay_connection *connection)
{
    release_stream(connection, NULL);
    connection->stream = NULL;
    connection->phase = RELAY_LAST_WORDS;
}

static void close_socket(struct relay_connection *connection, bool abort)
{
    struct relay *relay = connection->relay;
    shares_remove(relay->sockets, &connection->socket);
    relay->counters.resets_out += abort;
    if (!abort)
        host_socket_reset_on_close(connection->source.fd, false);
    loop_close(relay->loop, &connection->source);
    relay_end_wait(relay);
}

void connection_end(struct relay_connection *connection, const struct lft_result *result, bool abort)
{
    assert(!connection->ended);
    connection->ended = true;
    unlink_connection(connection);
    if (connection->stream)
        release_stream(connection, result);
    if (connection->source.fd >= 0)
        close_socket(connection, abort);
    if (connection->gone)
        connection->gone(connection);
    if (connection->front)
        loop_later_give(connection->relay->loop, connection->front);
    loop_later_give(connection->relay->loop, connection);
}

void connection_expire(struct relay_connection *connection)
{
    const struct lft_result late = {.code = LFT_RESULT_TIMED_OUT};
    bool far = connection->phase == RELAY_CONNECTING || connection->phase == RELAY_RESOLVING;
    if (far) {
        connection->relay->counters.far_failed++;
        lft_stream_refuse(connection->stream, &late);
    }
    connection_end(connection, far ? NULL : &late, !far);
}
