/* The table of streams by identifier: a hash of chains that grows with the number of streams. The hash has a secret
 * key; otherwise a peer could choose identifiers that all fall into one chain. */
#include <stdlib.h>

#include "session_internal.h"

static struct lft_stream **chain(const struct lft_session *session, uint32_t id)
{
    return &session->table[lft_session_hash(session, id, session->table_size)];
}

struct lft_stream *lft_stream_find(const struct lft_session *session, uint32_t id)
{
    struct lft_stream *stream = *chain(session, id);
    while (stream && stream->id != id)
        stream = stream->hash_next;
    return stream;
}

static void add(struct lft_session *session, struct lft_stream *stream)
{
    struct lft_stream **at = chain(session, stream->id);
    stream->hash_next = *at;
    *at = stream;
}

static void grow(struct lft_session *session)
{
    struct lft_stream **bigger = calloc(4 * (size_t)session->table_size, sizeof *bigger);
    if (!bigger)
        return;
    free(session->table);
    session->table = bigger;
    session->table_size *= 4;
    for (struct lft_stream *stream = session->all.first; stream; stream = stream->all.next)
        if (!stream->dead)
            add(session, stream);
}

void lft_table_add(struct lft_session *session, struct lft_stream *stream)
{
    if (session->streams >= session->table_size)
        grow(session);
    add(session, stream);
}

void lft_table_remove(struct lft_stream *stream)
{
    struct lft_stream **at = chain(stream->session, stream->id);
    while (*at != stream)
        at = &(*at)->hash_next;
    *at = stream->hash_next;
}
