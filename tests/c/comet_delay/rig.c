#include "rig.h"

#include <math.h>

#include "check.h"
#include "packets.h"
#include "ready.h"

struct direction *rig_make(struct params params, uint64_t granularity_ns)
{
    struct direction *d = malloc(sizeof *d);
    CHECK(d);
    direction_ready(d, params, granularity_ns);
    return d;
}

void rig_drop(struct direction *d)
{
    direction_free(d);
    free(d);
}

void rig_take(struct direction *d, uint32_t seq, uint32_t payload, uint64_t now_ns)
{
    struct packet_buffer *packet = direction_reserve(d);
    CHECK(packet != NULL);
    direction_take(d, packet, make_tcp4(packet->data, seq, payload, RIG_MSS), now_ns);
}

const struct rig_frame *rig_flat(const struct nc_run *run)
{
    static struct rig_frame frame;
    uint32_t head = run->head_len - NC_VNET_LEN;
    memcpy(frame.bytes, run->head + NC_VNET_LEN, head);
    memcpy(frame.bytes + head, run->payload, run->payload_len);
    frame.payload_len = head + run->payload_len - RIG_HEADERS;
    return &frame;
}

uint32_t rig_seq(const struct rig_frame *frame)
{
    const uint8_t *tcp = frame->bytes + 34;
    return (uint32_t)tcp[4] << 24 | (uint32_t)tcp[5] << 16 | (uint32_t)tcp[6] << 8 | tcp[7];
}

void rig_drain(struct direction *d, void (*see)(const struct rig_frame *, uint64_t time_ns, void *), void *context)
{
    struct nc_run run;
    for (const struct due *due; (due = direction_due(d, UINT64_MAX, &run));) {
        see(rig_flat(&run), due->time_ns, context);
        direction_sent(d, due->time_ns, true);
    }
}

/* Whether the TCP checksum, complete or still to be completed, fits the packet. */
static bool checksum_fits(const struct rig_frame *frame)
{
    uint32_t tcp_len = frame->payload_len + 20;
    uint8_t pseudo[12];
    memcpy(pseudo, frame->bytes + 26, 8);
    pseudo[8] = 0, pseudo[9] = 6, pseudo[10] = (uint8_t)(tcp_len >> 8), pseudo[11] = (uint8_t)tcp_len;
    return nc_csum_fold(nc_csum_add(nc_csum_add(0, pseudo, 12), frame->bytes + 34, tcp_len)) == 0;
}

void rig_see(const struct rig_frame *frame, uint64_t time_ns, void *context)
{
    struct rig_seen *seen = context;
    uint32_t seq = rig_seq(frame), wrong = 0;
    (void)time_ns;
    for (uint32_t b = 0; b < frame->payload_len; b++)
        wrong += (uint32_t)__builtin_popcount(frame->bytes[RIG_HEADERS + b] ^ (uint8_t)(seq + b));
    CHECK(wrong <= 1);
    seen->packets += frame->payload_len / RIG_MSS;
    seen->damaged += wrong;
    seen->checksum_wrong += wrong && !checksum_fits(frame);
    seen->backwards += seq < seen->last_seq;
    seen->last_seq = seq;
}

void rig_near(uint64_t got, double n, double share)
{
    CHECK(fabs((double)got - n * share) < 3.89 * sqrt(n * share * (1 - share)));
}

struct rig_seen rig_through(struct params params, struct direction_stats *stats)
{
    enum { PACKETS = 20000, TOGETHER = 10 };
    struct direction *d = rig_make(params, 50000);
    struct rig_seen seen = {0};
    for (uint32_t i = 0; i < PACKETS / TOGETHER; i++) {
        rig_take(d, i * TOGETHER * RIG_MSS, TOGETHER * RIG_MSS, (uint64_t)i * 1000000);
        if (params.reorder_ppb == 0)
            rig_drain(d, rig_see, &seen);
    }
    rig_drain(d, rig_see, &seen);
    CHECK_EQ(d->pool.held_bytes, 0);
    *stats = d->stats;
    rig_drop(d);
    return seen;
}
