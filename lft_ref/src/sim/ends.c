/* The two ends of a trial. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nc_clock.h"
#include "nc_range.h"
#include "run.h"

static uint32_t window_for(const struct sim_trial *trial)
{
    double frames = (double)trial->limit_bps / 8 / 1500 * ((double)trial->rtt_ns / 1e9 + 0.02) * 8;
    uint32_t window = 1 << 12;
    while (window < frames && window < LFT_NUMBERS_OUTSTANDING_MAX / 4)
        window *= 2;
    return window;
}

void sim_end_init(struct run *run, struct end *end, bool first)
{
    const struct sim_settings *s = run->trial->settings;
    uint64_t flight = run->trial->limit_bps / 8 * run->trial->rtt_ns / NC_NS_PER_S;
    size_t memory = s->memory_bytes ? s->memory_bytes : (40 << 20) + 4 * flight; /* as the gateway's */
    struct lft_engine_config config = {.recovery = run->trial->recovery,
                                       .redundancy = s->redundancy,
                                       .rate_mode = s->auto_rate ? LFT_RATE_AUTO : LFT_RATE_FIXED,
                                       .rate_bps = run->trial->limit_bps,
                                       .burst_ns = s->rate_burst_ns,
                                       .payload_max = run->payload_max,
                                       .outer_bytes = SIM_OUTER_BYTES,
                                       .padding_block = 4,
                                       .window_frames = window_for(run->trial),
                                       .tx_memory_bytes = (4 << 20) + 2 * flight,
                                       .rx_memory_bytes = memory,
                                       .first_number = s->first_number};
    struct lft_session_config session = {
        .initiator = first, .streams_max = 20000, .tx_memory_bytes = 12 << 20, .rx_memory_bytes = memory};
    end->session = lft_session_create(&session, NULL);
    struct lft_source source = lft_session_source(end->session);
    end->engine = lft_engine_create(&config, &source, 0);
    assert(end->engine);
    lft_session_restart(end->session, lft_engine_rx_pool(end->engine));
    lft_engine_set_peer_recovery(end->engine, run->trial->recovery);
    sim_late_init(&end->late, run->trial, !first);
    if (s->cipher) {
        uint8_t block[2][LFT_KEY_BLOCK] = {{1}, {2}};
        end->seal = lft_key_create((enum lft_cipher)s->cipher, block[first], true);
        end->unseal = lft_key_create((enum lft_cipher)s->cipher, block[!first], false);
    }
}

void sim_end_free(struct end *end)
{
    lft_session_destroy(end->session);
    lft_engine_destroy(end->engine);
    lft_key_destroy(end->seal);
    lft_key_destroy(end->unseal);
}

void sim_transmit(struct run *run, struct end *end, struct sim_path *path)
{
    struct lft_frame frame;
    uint8_t sealed[LFT_PAYLOAD_MAX + 128];
    while (lft_engine_poll(end->engine, run->now_ns, &frame)) {
        uint32_t wire = (uint32_t)(frame.length + lft_padding(frame.length, 4)) + LFT_FRAME_OVERHEAD + SIM_OUTER_BYTES;
        const uint8_t *data = frame.payload;
        uint32_t bytes = (uint32_t)frame.length;
        if (end->seal) {
            struct lft_header header = {
                .spi = 256, .command = frame.command, .number = frame.number, .counter = frame.counter};
            bytes = (uint32_t)lft_seal(end->seal, &header, frame.payload, frame.length, sealed);
            data = sealed;
        }
        if (end == &run->a)
            sim_meter_add(run->meter, wire, run->now_ns);
        else
            run->result->back_bytes += wire;
        sim_path_send(path, run->now_ns, &frame, data, bytes, wire);
    }
    end->wake_ns = lft_engine_next_ns(end->engine, run->now_ns);
}

void sim_receive(struct run *run, struct end *end, struct sim_path *path)
{
    struct sim_packet packet;
    while (sim_path_arrived(path, run->now_ns, &packet)) {
        struct lft_buffer *buffer;
        if (lft_engine_fresh(end->engine, packet.frame.counter) && (buffer = lft_engine_rx_buffer(end->engine))) {
            long length = packet.bytes;
            if (end->unseal)
                length = lft_unseal(end->unseal, packet.data, packet.bytes, buffer->at);
            else
                memcpy(buffer->at, packet.data, packet.bytes);
            assert(length >= 0);
            packet.frame.payload = buffer->at;
            packet.frame.length = (size_t)length;
            lft_engine_receive(end->engine, run->now_ns, &packet.frame);
        }
        sim_path_done(path, &packet);
    }
}
