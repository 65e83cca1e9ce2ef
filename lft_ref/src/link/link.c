/* The life of a link: associations, keys and timers. */
#include "link_internal.h"

#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_range.h"

const char *const lft_link_status_names[] = {"connecting", "up", "outage", NULL};

#define TICK_NS (100 * NC_NS_PER_MS)
#define STOOD_STILL_NS (500 * NC_NS_PER_MS)
#define PREVIOUS_NS (10 * NC_NS_PER_S)
/* The time limits of FORMAT.md, "When", for keys that wait for their first frame and for keys whose replacement is
 * overdue. */
#define PENDING_NS (20 * NC_NS_PER_S)
#define UNCONFIRMED_NS (5 * NC_NS_PER_S)
#define REJECT_NS (60 * NC_NS_PER_S)
#define KEY_FRAMES_MAX (UINT64_C(1) << 32)

static void defaults(struct lft_link_config *config)
{
    if (!config->dead_ns)
        config->dead_ns = NC_NS_PER_S;
    if (!config->outage_max_ns)
        config->outage_max_ns = 15 * 60 * NC_NS_PER_S;
    if (!config->rekey_ns)
        config->rekey_ns = 3600 * NC_NS_PER_S;
    if (!config->rekey_frames)
        config->rekey_frames = UINT64_C(1) << 31;
    config->engine.padding_block = (uint32_t)lft_cipher_block(config->handshake.cipher);
    config->handshake.recovery = (uint8_t)config->engine.recovery;
    config->handshake.payload_max = (uint16_t)config->engine.payload_max;
    config->handshake.rekey_ns = config->rekey_ns;
    config->session.initiator = config->handshake.initiator;
    config->session.rx_memory_bytes = config->engine.rx_memory_bytes;
}

static bool cipher_works(enum lft_cipher cipher)
{
    static const uint8_t zeros[LFT_KEY_BLOCK];
    struct lft_key *key = lft_key_create(cipher, zeros, true);
    lft_key_destroy(key);
    return key;
}

struct lft_link *lft_link_create(const struct lft_link_config *config, uint64_t now_ns)
{
    struct lft_link *link = calloc(1, sizeof *link);
    if (!link)
        return NULL;
    link->config = *config;
    defaults(&link->config);
    link->peer = config->peer;
    link->path_payload_max = config->engine.payload_max;
    link->tick_ns = now_ns + TICK_NS;
    link->handshake = lft_handshake_create(&link->config.handshake, now_ns);
    link->config.handshake.psk = NULL; /* the handshake has its own copy */
    link->session = lft_session_create(&link->config.session, NULL);
    if (!link->handshake || !link->session || !cipher_works(config->handshake.cipher)) {
        lft_link_destroy(link);
        return NULL;
    }
    lft_handshake_start(link->handshake, now_ns);
    return link;
}

void lft_link_drop_keys(struct lft_keys *keys)
{
    lft_key_destroy(keys->seal);
    lft_key_destroy(keys->unseal);
    memset(keys, 0, sizeof *keys);
}

void lft_link_destroy(struct lft_link *link)
{
    if (!link)
        return;
    /* Free the session before the engine, whose pool owns the session's buffers. */
    lft_session_destroy(link->session);
    lft_engine_destroy(link->engine);
    lft_handshake_destroy(link->handshake);
    lft_link_drop_keys(&link->current);
    lft_link_drop_keys(&link->previous);
    lft_link_drop_keys(&link->pending);
    lft_wipe(link, sizeof *link);
    free(link);
}

static void count_failed(struct lft_link *link, uint64_t *counter)
{
    struct lft_session_state state;
    lft_session_state(link->session, &state);
    *counter += state.streams - state.streams_lingering;
}

static void begin_association(struct lft_link *link, const struct lft_keys *keys, uint64_t now_ns)
{
    if (link->engine) {
        count_failed(link, &link->counters.failed_streams_restart);
        lft_session_fail(link->session, LFT_RESULT_PEER_RESTARTED);
        lft_engine_destroy(link->engine);
        link->events |= LFT_LINK_EVENT_RESTARTED;
    }
    lft_link_drop_keys(&link->current);
    lft_link_drop_keys(&link->previous);
    link->held_bytes = 0;
    link->newest_counter = 0;
    link->epoch = keys->epoch;
    link->peer_epoch = keys->peer_epoch;
    link->counters.associations++;
    lft_handshake_begun(link->handshake, keys->epoch);
    struct lft_source source = lft_session_source(link->session);
    link->engine = lft_engine_create(&link->config.engine, &source, now_ns);
    if (!link->engine) { /* no memory: the peer has an association that this end cannot continue */
        lft_handshake_renew(link->handshake);
        return;
    }
    lft_engine_set_peer_recovery(link->engine, keys->peer_recovery);
    lft_session_restart(link->session, lft_engine_rx_pool(link->engine));
}

static uint64_t key_clock(const struct lft_link *link, uint64_t now_ns)
{
    return now_ns + link->suspended_ns;
}

/* Returns the time, on key_clock, at which the link drops the keys in use even if no others have replaced them. */
static uint64_t rejected_ns(const struct lft_link *link)
{
    return link->installed_ns + link->current.rekey_ns + REJECT_NS;
}

static void use_keys(struct lft_link *link, const struct lft_keys *keys, const struct lft_address *from,
                     uint64_t now_ns)
{
    if (link->engine && keys->epoch == link->epoch && keys->peer_epoch == link->peer_epoch) {
        lft_link_drop_keys(&link->previous);
        link->previous = link->current;
        link->previous_until_ns = nc_min(key_clock(link, now_ns) + PREVIOUS_NS, rejected_ns(link));
        link->counters.rekeys++;
    } else
        begin_association(link, keys, now_ns);
    link->current = *keys;
    link->peer = *from;
    link->installed_ns = key_clock(link, now_ns);
    link->silent_since_ns = now_ns;
    link->tx_key_frames = link->rx_key_frames = 0;
    link->peer_payload_max = keys->peer_payload_max;
    lft_link_apply_payload_max(link);
}

void lft_link_await(struct lft_link *link, const struct lft_keys *keys, uint64_t now_ns)
{
    lft_link_drop_keys(&link->pending);
    link->pending = *keys;
    link->pending_until_ns = key_clock(link, now_ns) + PENDING_NS;
}

static void drop_pending(struct lft_link *link)
{
    lft_link_drop_keys(&link->pending);
    lft_handshake_settle(link->handshake);
}

/* Ends the association. The next one has another epoch, by which the peer notices the end. */
static void end_association(struct lft_link *link, unsigned code, unsigned event, uint64_t now_ns)
{
    lft_handshake_renew(link->handshake);
    lft_session_fail(link->session, code);
    lft_engine_destroy(link->engine);
    link->engine = NULL;
    lft_link_drop_keys(&link->current);
    lft_link_drop_keys(&link->previous);
    drop_pending(link);
    link->held_bytes = 0;
    link->status = LFT_LINK_CONNECTING;
    link->events |= event;
    lft_handshake_start(link->handshake, now_ns);
}

/* An initiator whose responder has restarted restarts itself. It does not use these keys: they belong to the epoch of
 * its previous association, and a peer that still has that association could not tell the two associations apart
 * (handshake.h). */
void lft_link_install(struct lft_link *link, struct lft_keys *keys, const struct lft_address *from, uint64_t now_ns)
{
    bool spent = link->engine && keys->epoch == link->epoch && keys->peer_epoch != link->peer_epoch;
    if (!spent) {
        use_keys(link, keys, from, now_ns);
        return;
    }
    lft_link_drop_keys(keys);
    count_failed(link, &link->counters.failed_streams_restart);
    end_association(link, LFT_RESULT_PEER_RESTARTED, LFT_LINK_EVENT_RESTARTED, now_ns);
}

static uint64_t last_heard(const struct lft_link *link, uint64_t now_ns)
{
    struct lft_engine_state state;
    lft_engine_state(link->engine, now_ns, &state);
    return state.last_heard_ns > link->silent_since_ns ? state.last_heard_ns : link->silent_since_ns;
}

bool lft_link_heard(const struct lft_link *link, uint64_t now_ns)
{
    return link->engine && now_ns - last_heard(link, now_ns) < link->config.dead_ns;
}

static void check_silence(struct lft_link *link, uint64_t now_ns)
{
    struct lft_engine_state state;
    lft_engine_state(link->engine, now_ns, &state);
    uint64_t silent_ns = now_ns - last_heard(link, now_ns);
    if (silent_ns < link->config.dead_ns) {
        if (link->status != LFT_LINK_UP && state.last_heard_ns) {
            link->status = LFT_LINK_UP;
            link->events |= LFT_LINK_EVENT_UP;
            lft_engine_set_running(link->engine, true);
        }
        return;
    }
    if (link->status == LFT_LINK_UP) {
        link->status = LFT_LINK_OUTAGE;
        link->events |= LFT_LINK_EVENT_OUTAGE;
        link->counters.outages++;
        lft_engine_set_running(link->engine, false);
    }
    lft_handshake_start(link->handshake, now_ns); /* the peer may have restarted and lost its keys */
    if (silent_ns >= link->config.outage_max_ns) {
        count_failed(link, &link->counters.failed_streams_outage);
        end_association(link, LFT_RESULT_OUTAGE, LFT_LINK_EVENT_FAILED, now_ns);
    }
}

/* Drops keys that have expired, even when no others are left. */
static void expire_keys(struct lft_link *link, uint64_t now_ns)
{
    uint64_t clock_ns = key_clock(link, now_ns);
    if (link->previous.seal && clock_ns >= link->previous_until_ns)
        lft_link_drop_keys(&link->previous);
    if (link->pending.seal && clock_ns >= link->pending_until_ns)
        drop_pending(link);
    if (link->current.seal && clock_ns >= rejected_ns(link)) {
        lft_link_drop_keys(&link->current);
        link->held_bytes = 0;
        link->counters.keys_rejected++;
    }
}

/* True when this end must ask for new keys. If the peer sends nothing under the new keys, it may have lost them while
 * it waited for our first frame, and frames under the previous keys would hide that. */
static bool wants_keys(const struct lft_link *link, uint64_t now_ns)
{
    uint64_t age_ns = key_clock(link, now_ns) - link->installed_ns;
    return !link->current.seal || age_ns >= link->current.rekey_ns ||
           nc_max(link->tx_key_frames, link->rx_key_frames) >= link->config.rekey_frames ||
           (!link->rx_key_frames && age_ns >= UNCONFIRMED_NS);
}

void lft_link_suspended(struct lft_link *link, uint64_t ns)
{
    link->suspended_ns += ns;
}

void lft_link_run_timers(struct lft_link *link, uint64_t now_ns)
{
    if (now_ns >= link->tick_ns) {
        /* this process was stopped and could not hear the peer, so the silence counts from now */
        if (now_ns - link->tick_ns > STOOD_STILL_NS)
            link->silent_since_ns = now_ns;
        link->tick_ns = now_ns + TICK_NS;
        lft_session_tick(link->session, now_ns);
    }
    expire_keys(link, now_ns);
    if (!link->engine || wants_keys(link, now_ns))
        lft_handshake_start(link->handshake, now_ns);
    if (!link->engine)
        return;
    if (lft_engine_closed(link->engine)) {
        end_association(link, LFT_RESULT_STOPPED, LFT_LINK_EVENT_CLOSED, now_ns);
        return;
    }
    check_silence(link, now_ns);
}

const struct lft_address *lft_link_init_to(const struct lft_link *link)
{
    return link->status == LFT_LINK_UP ? &link->peer : &link->config.peer;
}

bool lft_link_may_send(const struct lft_link *link)
{
    return link->engine && link->current.seal && link->peer.n && link->tx_key_frames < KEY_FRAMES_MAX;
}

uint64_t lft_link_next_ns(struct lft_link *link, uint64_t now_ns)
{
    if (link->replies_n || (link->held_bytes && lft_link_may_send(link)))
        return now_ns;
    uint64_t next =
        nc_min(link->tick_ns, lft_link_init_to(link)->n ? lft_handshake_next_ns(link->handshake) : UINT64_MAX);
    return lft_link_may_send(link) ? nc_min(next, lft_engine_next_ns(link->engine, now_ns)) : next;
}

uint64_t lft_link_rest_ns(const struct lft_link *link)
{
    return link->engine ? lft_engine_rest_ns(link->engine) : 0;
}
