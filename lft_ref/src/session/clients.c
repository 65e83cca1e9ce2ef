/* The clients that streams belong to, so that turns are shared among clients and not among streams: one with a hundred
 * streams gets as much of the line as one with a single stream. A client is what its OPEN says: the source address that
 * is kept (of IPv6 its first 64 bits), or the number that a proxy has given it.
 * The quantum of a stream is LFT_QUANTUM × the most streams that any client has waiting / those of its own client. So
 * streams of one client alone have LFT_QUANTUM as before, and no turn is shorter than that.
 * Rejected: a queue of clients, each with a queue of streams, which has the same result and twice the lists. */
#include <stdlib.h>
#include <string.h>

#include "nc_range.h"
#include "session_internal.h"

enum { QUANTUM_MAX = 1 << 20 };

static uint64_t key_of(const struct lft_open *where)
{
    uint64_t key = where->source_port;
    if (where->flags & LFT_OPEN_KEEP_SOURCE) {
        key = 0;
        memcpy(&key, where->source, where->family == LFT_FAMILY_IPV6 ? 8 : 4);
    }
    return key ^ (uint64_t)where->flags << 63;
}

static struct lft_client **bucket(struct lft_session *session, uint64_t key)
{
    return &session->clients[lft_session_hash(session, key, LFT_CLIENT_BUCKETS)];
}

void lft_client_join(struct lft_stream *stream, const struct lft_open *where)
{
    uint64_t key = key_of(where);
    struct lft_client **at = bucket(stream->session, key), *client = *at;
    while (client && client->key != key)
        client = client->hash_next;
    if (!client && (client = calloc(1, sizeof *client))) {
        client->key = key;
        client->hash_next = *at;
        *at = client;
    }
    stream->client = client;
    if (client)
        client->streams++;
}

void lft_client_leave(struct lft_stream *stream)
{
    struct lft_client *client = stream->client;
    stream->client = NULL;
    if (!client || --client->streams)
        return;
    struct lft_client **at = bucket(stream->session, client->key);
    while (*at != client)
        at = &(*at)->hash_next;
    *at = client->hash_next;
    free(client);
}

void lft_client_waits(struct lft_stream *stream, bool waits)
{
    struct lft_client *client = stream->client;
    if (!client)
        return;
    client->waiting += waits ? 1 : (uint32_t)-1;
    stream->session->waiting_most = nc_max(stream->session->waiting_most, client->waiting);
}

int32_t lft_client_quantum(const struct lft_stream *stream)
{
    if (!stream->client || !stream->client->waiting)
        return LFT_QUANTUM;
    uint64_t quantum = (uint64_t)LFT_QUANTUM * stream->session->waiting_most / stream->client->waiting;
    return (int32_t)nc_min(nc_max(quantum, LFT_QUANTUM), QUANTUM_MAX);
}

/* A stale maximum makes all turns longer by the same factor, so it needs no exact care. */
void lft_clients_tick(struct lft_session *session)
{
    session->waiting_most = 0;
    for (unsigned i = 0; i < LFT_CLIENT_BUCKETS; i++)
        for (const struct lft_client *client = session->clients[i]; client; client = client->hash_next)
            session->waiting_most = nc_max(session->waiting_most, client->waiting);
}
