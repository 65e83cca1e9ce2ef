/* Creates, runs and ends a session, and handles all of its streams together. */
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "primitives.h"
#include "session_internal.h"

/* Memory that streams need when they are opened. It is reserved for the maximum number of streams, so that none fails
 * for lack of memory. */
static bool reserve(struct lft_session *session)
{
    size_t streams = session->config.streams_max, memory = session->config.rx_memory_bytes;
    size_t pieces = nc_max(memory / 4 / sizeof(struct lft_piece), 4 * streams);
    return nc_slots_init(&session->all_streams, sizeof(struct lft_stream), streams) == 0 &&
           nc_slots_init(&session->all_clients, sizeof(struct lft_client), streams) == 0 &&
           nc_slots_init(&session->all_pieces, sizeof(struct lft_piece), pieces) == 0;
}

struct lft_session *lft_session_create(const struct lft_session_config *config, struct lft_pool *rx_pool)
{
    struct lft_session *session = calloc(1, sizeof *session);
    if (!session)
        return NULL;
    session->config = *config;
    session->rx_pool = rx_pool;
    session->next_id = config->initiator ? 0 : 1;
    lft_random(&session->hash_key, sizeof session->hash_key);
    session->hash_key |= 1;
    session->blocks = lft_pool_create(sizeof(struct lft_block), config->tx_memory_bytes);
    session->table_size = session->holes_size = 1024;
    session->table = calloc(session->table_size, sizeof *session->table);
    session->holes = calloc(session->holes_size, sizeof *session->holes);
    bool lists = lft_stream_ids_init(&session->theirs) && lft_refusals_init(&session->refusals);
    if (lists && reserve(session) && session->table && session->holes && session->blocks)
        return session;
    lft_session_destroy(session);
    return NULL;
}

void lft_session_destroy(struct lft_session *session)
{
    if (!session)
        return;
    while (session->all.first)
        lft_stream_free(session->all.first);
    lft_pool_destroy(session->blocks);
    lft_stream_ids_free(&session->theirs);
    lft_refusals_free(&session->refusals);
    free(session->table);
    free(session->holes);
    nc_slots_destroy(&session->all_streams);
    nc_slots_destroy(&session->all_clients);
    nc_slots_destroy(&session->all_pieces);
    free(session);
}

struct lft_source lft_session_source(struct lft_session *session)
{
    return (struct lft_source){.fill = lft_session_fill,
                               .waiting = lft_session_waiting,
                               .deliver = lft_session_deliver,
                               .round_trip = lft_session_round_trip,
                               .user = session};
}

void lft_session_fail(struct lft_session *session, unsigned result_code)
{
    session->failed = true;
    lft_refusals_clear(&session->refusals);
    for (struct lft_stream *stream = session->all.first, *next; stream; stream = next) {
        next = stream->all.next;
        if (!stream->dead)
            lft_stream_die(stream, result_code);
    }
    memset(session->table, 0, session->table_size * sizeof *session->table);
}

void lft_session_restart(struct lft_session *session, struct lft_pool *rx_pool)
{
    session->rx_pool = rx_pool;
    session->next_id = session->config.initiator ? 0 : 1;
    lft_stream_ids_clear(&session->theirs);
    session->failed = false;
}

/* The relay's time limits do not cover an EARLY stream, so its OPEN must arrive in time. */
static void expire(struct lft_stream *stream)
{
    lft_stream_reset(stream, &(struct lft_result){.code = LFT_RESULT_TIMED_OUT});
    stream->rx_final = stream->rx_seen;
    lft_stream_disown(stream);
    lft_stream_maybe_free(stream);
}

void lft_session_tick(struct lft_session *session, uint64_t now_ns)
{
    if (now_ns >= session->trim_ns) {
        session->trim_ns = now_ns + NC_NS_PER_S;
        lft_pool_trim(session->blocks);
    }
    bool second = ++session->ticks % 10 == 0;
    for (struct lft_stream *stream = session->all.first, *next; stream; stream = next) {
        next = stream->all.next;
        if (stream->rx_idle_ticks < LFT_ACTIVE_TICKS && ++stream->rx_idle_ticks == LFT_ACTIVE_TICKS)
            session->active--;
        stream->rx_recent /= 2;
        lft_stream_credit_tick(stream, second);
        if (lft_stream_state(stream) == LFT_STREAM_EARLY && ++stream->early_ticks >= LFT_EARLY_TICKS)
            expire(stream);
    }
}

void lft_session_round_trip(void *user, uint64_t srtt_ns)
{
    struct lft_session *session = user;
    session->round_trip_ns = srtt_ns;
}

const struct lft_session_counters *lft_session_counters(const struct lft_session *session)
{
    return &session->counters;
}

void lft_session_state(const struct lft_session *session, struct lft_session_state *state)
{
    *state = (struct lft_session_state){.streams = session->streams,
                                        .streams_active = session->active,
                                        .streams_lingering = session->lingering,
                                        .tx_queued_bytes = session->tx_queued,
                                        .rx_queued_bytes = session->rx_held};
}
