/* Any bytes as packets from a port, through a direction with loss, rate and queue. Every packet that comes out must be
 * accounted for, and every run must lie within the packet from which it was cut. A recorder with little room records
 * the packets, and its reader sometimes pauses. Input: 2-byte length, packet, … */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "direction.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drain(struct direction *d, uint64_t now_ns)
{
    struct nc_run run;
    for (const struct due *due; (due = direction_due(d, now_ns, &run));) {
        const uint8_t *end = due->buffer->data + due->buffer->len;
        assert(run.head_len >= NC_VNET_LEN && run.head_len <= sizeof run.head);
        bool edited = run.payload == d->scratch;
        assert(edited || run.payload_len == 0 ||
               (run.payload >= due->buffer->data && run.payload + run.payload_len <= end));
        assert(!edited || run.payload_len <= sizeof d->scratch);
        volatile uint8_t sum = 0;
        for (uint32_t i = 0; i < run.payload_len; i++)
            sum = (uint8_t)(sum + run.payload[i]);
        direction_sent(d, now_ns, true);
    }
}

/* Every stage is in use. If a stage has two kinds, the input's size chooses one. */
static struct params params_for(size_t size)
{
    struct params params = {.delay_ns = 1000,
                            .rate_bps = 10000000,
                            .channels = size % 4,
                            .balance = size % 8 < 4 ? BALANCE_FLOW : BALANCE_PACKET,
                            .queue_bytes = 200000,
                            .queue_packets = 100,
                            .aqm = "codel:target=1ms,interval=10ms,ecn=on",
                            .bunch_ns = 250000,
                            .bunch_packets = 20,
                            .pace_bps = 9000000,
                            .pace_buffer_bytes = 30000,
                            .drain_rate_bps = 8500000,
                            .drain_buffer_bytes = 20000,
                            .harmonize_bps = 8000000,
                            .jitter = "normal:100us,50%",
                            .rate_trace = "none",
                            .jitter_order = size % 3 ? JITTER_REORDERS : JITTER_KEEPS_ORDER,
                            .queue_drop = size % 2 ? QUEUE_DROP_HEAD : QUEUE_DROP_TAIL,
                            .only = "all",
                            .loss = "retransmission:1",
                            .loss_after = "gilbert:10%,5",
                            .duplicate_ppb = NC_RATIO_ONE / 4,
                            .corrupt_ppb = NC_RATIO_ONE / 4,
                            .forge_ppb = NC_RATIO_ONE / 4,
                            .reorder_ppb = NC_RATIO_ONE / 4,
                            .reorder_by_ns = 3000000};
    if (size % 7 == 0)
        snprintf(params.aqm, sizeof params.aqm, "fq_codel:target=1ms,interval=10ms,memory=100KB");
    if (size % 17 == 0)
        snprintf(params.aqm, sizeof params.aqm, "dualpi2:target=1ms,ect0=%s", size % 2 ? "on" : "off");
    if (size % 13 == 0)
        snprintf(params.aqm, sizeof params.aqm, "policer:rate=5Mbit,burst=10KB,ecn=%s", size % 2 ? "on" : "off");
    if (size % 11 == 0)
        snprintf(params.only, sizeof params.only, "data,!fin,min-size=100,!dst=10.0.0.0/9");
    return params;
}

/* Takes one packet from the input; returns where the next one begins. */
static size_t take(struct direction *d, const uint8_t *data, size_t size, size_t at, uint64_t now_ns)
{
    size_t len = (size_t)data[at] | (size_t)data[at + 1] << 8;
    at += 2;
    if (len > size - at)
        len = size - at;
    struct packet_buffer *packet = direction_reserve(d);
    if (packet) {
        memcpy(packet->data, data + at, len);
        direction_take(d, packet, (uint32_t)len, now_ns);
    }
    return at + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { SLOTS_MAX = 4096 };
    static struct direction d;
    static struct recorder ring;
    static struct comet_record_ring shared;
    static _Alignas(64) uint8_t slots[SLOTS_MAX * COMET_RECORD_SLOT];
    const struct params params = params_for(size);
    struct models models;
    struct nc_error error;
    if (direction_init(&d, 0, 1, 50000, 4 << 20, 0) < 0 || models_build(&params, &models, &error) < 0)
        return 0;
    direction_set(&d, &params, &models, 0);
    memset(&shared, 0, sizeof shared);
    recorder_init(&ring, &shared, slots, 64 + size % (SLOTS_MAX - 64), 64 + size % 900);
    d.recorder = &ring;
    uint64_t now_ns = 1;
    for (size_t at = 0; at + 2 <= size; now_ns += 100000) {
        at = take(&d, data, size, at, now_ns);
        drain(&d, now_ns);
        if (size % 5)
            atomic_store(&shared.tail, atomic_load(&shared.head));
    }
    drain(&d, UINT64_MAX);
    const struct direction_stats *s = &d.stats;
    assert(s->in_packets + s->duplicated == s->out_packets + s->drops[FATE_LOSS] + s->drops[FATE_QUEUE] +
                                                s->drops[FATE_AQM] + s->drops[FATE_PACE] + s->drops[FATE_DRAIN] +
                                                s->drops[FATE_OUTAGE] + s->drops[FATE_MEMORY] + s->drops[FATE_POLICER]);
    assert(d.pool.held_bytes == 0);
    assert(ring.reserved == 0 && shared.skipped_packets + shared.packets <= s->in_packets);
    direction_free(&d);
    return 0;
}
