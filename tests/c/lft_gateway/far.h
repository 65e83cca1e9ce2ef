/* A far gateway's relay and a near session, for tests of how a relay handles servers. The test plays the near
 * gateway. */
#ifndef FAR_H
#define FAR_H

#include "check.h"
#include "loop.h"
#include "nc_clock.h"
#include "relay.h"
#include "session.h"

enum { FAR_ROOM = 2048, FAR_MEMORY = 8 << 20 };

/* The near session, which opens streams, and the far gateway's relay with its session. */
struct far_pair {
    struct lft_session *session[2];
    struct lft_pool *pool[2];
    struct loop *loop;
    struct relay *relay;
};

static inline void far_carry(struct far_pair *pair, unsigned from)
{
    for (;;) {
        struct lft_buffer *buffer = lft_pool_take(pair->pool[1 - from], 1);
        struct lft_source source = lft_session_source(pair->session[from]),
                          sink = lft_session_source(pair->session[1 - from]);
        size_t n = source.fill(source.user, buffer->at, FAR_ROOM - 64, 1);
        if (n)
            sink.deliver(sink.user, buffer, buffer->at, n, 1);
        lft_pool_release(pair->pool[1 - from], buffer);
        if (!n)
            return;
    }
}

static inline struct far_pair far_make(const struct relay_settings *chosen, size_t near_memory)
{
    struct relay_settings settings = *chosen;
    settings.sessions_max = settings.half_open_max = 10;
    settings.half_open_ns = 60 * NC_NS_PER_S;
    struct far_pair pair;
    for (unsigned end = 0; end < 2; end++) {
        size_t memory = end ? FAR_MEMORY : near_memory;
        const struct lft_session_config config = {
            .initiator = end == 0, .streams_max = 10, .tx_memory_bytes = FAR_MEMORY, .rx_memory_bytes = memory};
        pair.pool[end] = lft_pool_create(FAR_ROOM, memory);
        pair.session[end] = lft_session_create(&config, pair.pool[end]);
    }
    pair.loop = loop_create();
    pair.relay = relay_create(&settings, pair.loop, pair.session[1]);
    return pair;
}

static inline void far_unmake(struct far_pair *pair)
{
    relay_destroy(pair->relay);
    loop_destroy(pair->loop);
    for (unsigned end = 0; end < 2; end++) {
        lft_session_destroy(pair->session[end]);
        lft_pool_destroy(pair->pool[end]);
    }
}

#endif
