/* The clients of streams. Turns are shared among clients and not among streams: one with a hundred streams gets as much
 * of the line as one with a single stream. The OPEN identifies the client: by the source address that is kept (for IPv6
 * its first 64 bits), or by the number that a proxy has given the client. */
#include <string.h>

#include "session_internal.h"

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
    if (!client && (client = nc_slots_take(&stream->session->all_clients))) {
        *client = (struct lft_client){.key = key, .hash_next = *at};
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
    lft_client_leave_turns(stream->session, client);
    struct lft_client **at = bucket(stream->session, client->key);
    while (*at != client)
        at = &(*at)->hash_next;
    *at = client->hash_next;
    nc_slots_give(client);
}
