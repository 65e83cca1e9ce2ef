/* Hashes the parts of a world that can influence what happens next. */
#include <string.h>

#include "watch.h"
#include "proof.h"

#define MIX(state, field) watch_hash(state, &(field), sizeof(field))

static uint64_t keys_state(uint64_t state, const struct lft_keys *keys)
{
    state = MIX(state, keys->spi_in);
    state = MIX(state, keys->spi_out);
    return MIX(state, keys->epoch);
}

static uint64_t handshake_state(uint64_t state, const struct lft_handshake *handshake)
{
    state = MIX(state, handshake->epoch);
    state = MIX(state, handshake->next_epoch);
    state = MIX(state, handshake->spi);
    state = MIX(state, handshake->init.running);
    if (handshake->init.running) {
        state = MIX(state, handshake->init.message);
        state = MIX(state, handshake->init.composed_ns);
        state = MIX(state, handshake->init.next_ns);
        state = MIX(state, handshake->init.wait_ns);
    }
    state = MIX(state, handshake->init.cookie);
    state = MIX(state, handshake->init.cookie_until_ns);
    state = MIX(state, handshake->init.timestamp);
    state = MIX(state, handshake->response.timestamp);
    state = MIX(state, handshake->response.awaited);
    if (handshake->response.awaited)
        state = MIX(state, handshake->response.answered);
    return MIX(state, handshake->response.cookies.secret);
}

static uint64_t link_state(uint64_t state, const struct lft_link *link, uint64_t now_ns)
{
    const bool any = link->engine;
    state = handshake_state(state, link->handshake);
    state = keys_state(state, &link->current);
    state = keys_state(state, &link->previous);
    state = keys_state(state, &link->pending);
    state = MIX(state, link->peer.at[0]);
    state = MIX(state, link->epoch);
    state = MIX(state, link->peer_epoch);
    state = MIX(state, link->status);
    state = MIX(state, link->installed_ns);
    state = MIX(state, link->newest_counter);
    state = MIX(state, link->rx_key_frames);
    state = MIX(state, any);
    if (any) {
        struct lft_engine_state engine;
        lft_engine_state(link->engine, now_ns, &engine);
        state = MIX(state, engine.last_heard_ns);
    }
    return state;
}

uint64_t world_state(void)
{
    uint64_t state = 1, messages = 0;
    state = MIX(state, world->now_ns);
    state = MIX(state, world->restarts);
    for (int end = 0; end < ENDS; end++) {
        state = MIX(state, world->draws[end]);
        state = link_state(state, world->link[end], world->now_ns);
    }
    for (unsigned i = 0; i < world->messages_n; i++) /* in any order */
        messages += watch_hash(world->messages[i].by, world->messages[i].at, world->messages[i].n);
    return MIX(state, messages);
}
