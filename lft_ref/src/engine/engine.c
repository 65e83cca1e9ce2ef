/* Creates an engine, changes its settings and shows its state. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "engine_internal.h"
#include "nc_clock.h"
#include "nc_pages.h"

const char *const lft_class_names[] = {"ack", "retransmission", "data", "redundant", NULL};

static bool allocate(struct lft_engine *engine)
{
    const struct lft_engine_config *config = &engine->config;
    engine->history_size = 2 * (uint64_t)config->window_frames;
    engine->slots = calloc(config->window_frames, sizeof *engine->slots);
    engine->history = calloc(engine->history_size, sizeof *engine->history);
    engine->queue = calloc(2 * (size_t)config->window_frames, sizeof *engine->queue);
    engine->rx_bits = nc_pages_map(LFT_RX_SPAN / 8);
    engine->tx_pool = lft_pool_create(config->payload_max + 16, config->tx_memory_bytes);
    /* A buffer needs room behind the payload, because decryption also writes padding and trailer there. */
    engine->rx_pool = lft_pool_create(LFT_FRAME_OVERHEAD + 16 + config->payload_max, config->rx_memory_bytes);
    bool all =
        engine->slots && engine->history && engine->queue && engine->rx_bits && engine->tx_pool && engine->rx_pool;
    if (all && engine->recovery->coded)
        all = (engine->fec_tx = lft_fec_tx_create(config->payload_max));
    return all;
}

static void initialise(struct lft_engine *engine, const struct lft_engine_config *config,
                       const struct lft_source *source, uint64_t now_ns)
{
    engine->config = *config;
    engine->source = *source;
    if (!engine->config.keepalive_ns)
        engine->config.keepalive_ns = 200 * NC_NS_PER_MS;
    engine->recovery = &lft_recovery_table[config->recovery];
    engine->peer_recovery = &lft_recovery_table[LFT_SELECTIVE];
    engine->payload_max = config->payload_max;
    engine->running = true;
    engine->tx_base = engine->tx_next = engine->resend_next = config->first_number;
    engine->rx_expected = engine->rx_highest = config->first_number;
    engine->rtt.srtt_ns = config->initial_rtt_ns ? config->initial_rtt_ns : 200 * NC_NS_PER_MS;
    engine->rtt.rttvar_ns = engine->rtt.srtt_ns / 2;
    engine->ack_at_ns = now_ns; /* the first frame shows the peer that we have the keys */
    engine->last_sent_ns = engine->last_data_ns = engine->progress_ns = now_ns;
    lft_shaper_init(&engine->shaper, config->rate_bps, config->burst_ns, lft_frame_bytes(engine), now_ns);
    lft_engine_set_rate(engine, config->rate_mode, config->rate_bps, now_ns);
    if (source->round_trip)
        source->round_trip(source->user, engine->rtt.srtt_ns);
}

struct lft_engine *lft_engine_create(const struct lft_engine_config *config, const struct lft_source *source,
                                     uint64_t now_ns)
{
    uint32_t window = config->window_frames;
    assert(window >= 64 && (window & (window - 1)) == 0 && window <= LFT_NUMBERS_OUTSTANDING_MAX);
    assert(config->payload_max >= LFT_PAYLOAD_MIN && config->payload_max <= LFT_PAYLOAD_MAX && config->padding_block);
    struct lft_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return NULL;
    initialise(engine, config, source, now_ns);
    if (allocate(engine))
        return engine;
    lft_engine_destroy(engine);
    return NULL;
}

void lft_engine_destroy(struct lft_engine *engine)
{
    if (!engine)
        return;
    lft_fec_tx_destroy(engine->fec_tx);
    lft_fec_rx_destroy(engine->fec_rx);
    lft_pool_destroy(engine->tx_pool);
    lft_pool_destroy(engine->rx_pool);
    free(engine->slots);
    free(engine->history);
    free(engine->queue);
    nc_pages_unmap(engine->rx_bits, LFT_RX_SPAN / 8);
    free(engine);
}

void lft_engine_set_peer_recovery(struct lft_engine *engine, enum lft_recovery recovery)
{
    engine->peer_recovery = &lft_recovery_table[recovery < LFT_RECOVERIES ? recovery : LFT_SELECTIVE];
    if (engine->peer_recovery->coded && !engine->fec_rx)
        engine->fec_rx = lft_fec_rx_create(engine->config.payload_max, engine->rx_pool, lft_rx_found, engine);
}

void lft_engine_set_payload_max(struct lft_engine *engine, uint32_t payload_max)
{
    if (payload_max >= LFT_PAYLOAD_MIN && payload_max <= engine->config.payload_max)
        engine->payload_max = payload_max;
}

void lft_engine_set_rate(struct lft_engine *engine, enum lft_rate_mode mode, uint64_t rate_bps, uint64_t now_ns)
{
    engine->config.rate_mode = mode;
    engine->config.rate_bps = rate_bps;
    engine->train = (struct lft_train){0};
    if (mode == LFT_RATE_AUTO) {
        lft_rate_auto_init(&engine->rate, rate_bps, now_ns);
        rate_bps = engine->rate.rate_bps;
    }
    lft_shaper_set(&engine->shaper, rate_bps, lft_frame_bytes(engine), now_ns);
}

void lft_engine_set_redundancy(struct lft_engine *engine, bool on)
{
    engine->config.redundancy = on;
}

void lft_engine_set_running(struct lft_engine *engine, bool running)
{
    engine->running = running;
}

void lft_engine_probe(struct lft_engine *engine, uint32_t payload)
{
    engine->probe_bytes = payload < LFT_PAYLOAD_MAX ? payload : LFT_PAYLOAD_MAX;
    engine->probe_id = (engine->probe_id + 1) & LFT_NUMBER_MASK;
}

uint32_t lft_engine_probe_reply(struct lft_engine *engine)
{
    uint32_t answered = engine->probe_answered;
    engine->probe_answered = 0;
    return answered;
}

void lft_engine_close(struct lft_engine *engine, unsigned result)
{
    engine->close_left = 3;
    engine->close_code = result;
}

unsigned lft_engine_closed(const struct lft_engine *engine)
{
    return engine->closed_by_peer;
}

struct lft_pool *lft_engine_rx_pool(struct lft_engine *engine)
{
    return engine->rx_pool;
}

const struct lft_engine_counters *lft_engine_counters(const struct lft_engine *engine)
{
    return &engine->counters;
}

void lft_engine_state(const struct lft_engine *engine, uint64_t now_ns, struct lft_engine_state *state)
{
    (void)now_ns;
    *state = (struct lft_engine_state){.srtt_ns = engine->rtt.srtt_ns,
                                       .min_rtt_ns = engine->rtt.min_ns,
                                       .rttvar_ns = engine->rtt.rttvar_ns,
                                       .queue_delay_ns = engine->rtt.queue_ns,
                                       .rate_bps = engine->shaper.rate_bps,
                                       .loss_ppb = engine->loss_ppb,
                                       .unacknowledged_frames = engine->outstanding,
                                       .next_number = engine->tx_next,
                                       .oldest_number = engine->tx_base,
                                       .expected_number = engine->rx_expected,
                                       .last_heard_ns = engine->last_heard_ns,
                                       .tx_buffers = lft_pool_used(engine->tx_pool),
                                       .rx_buffers = lft_pool_used(engine->rx_pool)};
}
