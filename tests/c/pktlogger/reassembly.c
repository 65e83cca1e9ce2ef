/* Streams from segments: every byte is delivered once and in order, or is in a gap, for any order, overlap and
 * limit. */
#include "reassembly.h"

#include "check.h"
#include "nc_range.h"
#include "seeded.h"

enum { STREAM_MAX = 1 << 17 };

/* What was delivered. Byte i of a stream is pattern(i), so every delivered byte can be checked. */
struct heard {
    uint64_t next, gap_bytes, gaps;
};

static uint8_t pattern(uint64_t offset)
{
    return (uint8_t)(offset * 167 + (offset >> 8) * 13);
}

static void on_data(void *context, uint64_t offset, const uint8_t *data, size_t len)
{
    struct heard *heard = context;
    CHECK_EQ(offset, heard->next);
    CHECK(len > 0);
    for (size_t i = 0; i < len; i++)
        CHECK_EQ(data[i], pattern(offset + i));
    heard->next += len;
}

static void on_gap(void *context, uint64_t from, uint64_t to)
{
    struct heard *heard = context;
    CHECK_EQ(from, heard->next);
    CHECK(to > from);
    heard->next = to;
    heard->gaps++;
    heard->gap_bytes += to - from;
}

struct rig {
    struct pl_reassembly stream;
    struct pl_stream_pool pool;
    struct heard heard;
    struct pl_stream_output output;
    uint32_t base;
};

static void start(struct rig *rig, uint32_t base, uint64_t stream_limit, uint64_t total_limit)
{
    *rig = (struct rig){.pool = {.stream_limit = stream_limit, .total_limit = total_limit}, .base = base};
    rig->output = (struct pl_stream_output){on_data, on_gap, &rig->heard};
    pl_reassembly_base(&rig->stream, base);
}

/* A segment of which the first `have` bytes were captured. */
static void send_cut(struct rig *rig, uint64_t offset, uint32_t len, uint32_t have)
{
    uint8_t *data = malloc(have ? have : 1); /* allocated exactly, so that a sanitizer sees a read beyond its end */
    for (uint32_t i = 0; i < have; i++)
        data[i] = pattern(offset + i);
    struct pl_stream_segment segment = {rig->base + (uint32_t)offset, len, have, data};
    pl_reassembly_segment(&rig->stream, &rig->pool, &segment, &rig->output);
    free(data);
    CHECK(rig->pool.used <= rig->pool.total_limit && rig->stream.held_bytes <= rig->pool.stream_limit);
    CHECK_EQ(rig->pool.used, rig->stream.held_bytes);
    CHECK_EQ(rig->stream.next, rig->heard.next);
}

static void send(struct rig *rig, uint64_t offset, uint32_t len)
{
    send_cut(rig, offset, len, len);
}

static void in_order_is_delivered_at_once(void)
{
    struct rig rig;
    start(&rig, UINT32_MAX - 100, 1 << 20, 1 << 20); /* across the wrap */
    for (unsigned i = 0; i < 10; i++)
        send(&rig, i * 100, 100);
    CHECK_EQ(rig.heard.next, 1000);
    CHECK_EQ(rig.pool.used_max, 0);
    CHECK_EQ(rig.pool.delivered_bytes, 1000);
}

static void out_of_order_waits_for_what_is_missing(void)
{
    struct rig rig;
    start(&rig, 7, 1 << 20, 1 << 20);
    send(&rig, 200, 100);
    send(&rig, 100, 100);
    CHECK_EQ(rig.heard.next, 0);
    send(&rig, 0, 100);
    CHECK_EQ(rig.heard.next, 300);
    CHECK_EQ(rig.pool.used, 0);
    CHECK_EQ(rig.pool.gaps, 0);
}

static void retransmissions_are_delivered_once(void)
{
    struct rig rig;
    start(&rig, 7, 1 << 20, 1 << 20);
    send(&rig, 0, 100);
    send(&rig, 0, 100);
    send(&rig, 50, 100); /* half old */
    send(&rig, 300, 100);
    send(&rig, 250, 200); /* around a held piece */
    send(&rig, 320, 10);
    send(&rig, 150, 100);
    CHECK_EQ(rig.heard.next, 450);
    CHECK_EQ(rig.pool.delivered_bytes, 450);
    CHECK_EQ(rig.pool.duplicate_bytes, 100 + 50 + 100 + 10);
    CHECK_EQ(rig.pool.gaps, 0);
}

/* A limit makes the reassembler give missing bytes up. It never loses a byte that was captured. */
static void a_full_memory_gives_up_the_gap_not_the_data(void)
{
    struct rig rig;
    start(&rig, 7, 8 * PL_CHUNK, 1 << 20);
    for (unsigned i = 0; i < 100; i++)
        send(&rig, 1000 + i * 1000, 1000);
    pl_reassembly_flush(&rig.stream, &rig.pool, &rig.output);
    CHECK_EQ(rig.heard.next, 101000);
    CHECK_EQ(rig.heard.gaps, 1);
    CHECK_EQ(rig.heard.gap_bytes, 1000);
    CHECK_EQ(rig.pool.delivered_bytes, 100000);
    send(&rig, 0, 1000); /* too late */
    CHECK_EQ(rig.pool.duplicate_bytes, 1000);
    start(&rig, 7, 1 << 20, 100); /* the other streams have taken all memory */
    send(&rig, 500, 100);
    CHECK_EQ(rig.heard.next, 600);
    CHECK_EQ(rig.heard.gap_bytes, 500);
}

static void what_the_capture_cut_off_is_a_gap(void)
{
    struct rig rig;
    start(&rig, 7, 1 << 20, 1 << 20);
    send_cut(&rig, 0, 1000, 60);
    send_cut(&rig, 2000, 1000, 60);
    send_cut(&rig, 1000, 1000, 0);
    CHECK_EQ(rig.heard.next, 3000);
    CHECK_EQ(rig.heard.gap_bytes, 940 + 1000 + 940);
    CHECK_EQ(rig.pool.delivered_bytes, 120);
}

static void what_was_acknowledged_and_never_seen_becomes_a_gap(void)
{
    struct rig rig;
    start(&rig, 7, 1 << 20, 1 << 20);
    send(&rig, 1000, 500);
    pl_reassembly_acked(&rig.stream, &rig.pool, 7 + 1500, 10, &rig.output);
    CHECK_EQ(rig.heard.next, 0); /* a capture by two processors may have data and ACK in the wrong order */
    pl_reassembly_acked(&rig.stream, &rig.pool, 7 + 1500, 10 + PL_REORDER_PACKETS - 1, &rig.output);
    CHECK_EQ(rig.heard.next, 0);
    pl_reassembly_acked(&rig.stream, &rig.pool, 7 + 1500, 10 + PL_REORDER_PACKETS, &rig.output);
    CHECK_EQ(rig.heard.next, 1500);
    CHECK_EQ(rig.heard.gap_bytes, 1000);
}

static void strays_do_no_harm(void)
{
    struct rig rig;
    start(&rig, 7, 1 << 20, 1 << 20);
    send(&rig, 0, 100);
    send(&rig, 100 + (UINT64_C(1) << 30) + 1, 50); /* ahead of every window */
    send_cut(&rig, (uint64_t)0 - 50, 50, 50);      /* before the first byte */
    pl_reassembly_fin(&rig.stream, rig.base + 40); /* a FIN below data already seen */
    CHECK_EQ(rig.pool.outside_bytes, 100);
    CHECK(!rig.stream.has_fin);
    pl_reassembly_fin(&rig.stream, rig.base + 150);
    CHECK(!rig.stream.ended);
    send(&rig, 100, 100); /* beyond the FIN */
    CHECK_EQ(rig.heard.next, 150);
    CHECK(rig.stream.ended);
    CHECK_EQ(rig.pool.outside_bytes, 150);
}

/* For any order, any overlap and any limits, the bytes that arrive form the stream, and all others are in gaps. With
 * room for everything, and every byte sent at least once, there is no gap. */
static void any_order_gives_the_stream(void)
{
    struct seeded seeded = seeded_start();
    for (int round = 0; round < 60; round++) {
        struct rig rig;
        bool roomy = seeded_below(&seeded, 2);
        uint32_t total = 1 + seeded_below(&seeded, STREAM_MAX), largest = 1 + seeded_below(&seeded, 9000);
        start(&rig, (uint32_t)seeded_next(&seeded),
              roomy ? UINT64_C(1) << 40 : PL_CHUNK + seeded_below(&seeded, 1 << 17),
              roomy ? UINT64_C(1) << 40 : PL_CHUNK + seeded_below(&seeded, 1 << 17));
        uint32_t reach = 1 + seeded_below(&seeded, 60000), sent = 0;
        while (sent < total) { /* advances through the stream; pieces near this position come early, late, or twice */
            uint32_t at = sent > reach / 2 ? sent - reach / 2 : 0, len = 1 + seeded_below(&seeded, largest);
            at += seeded_below(&seeded, reach);
            if (at < total)
                send(&rig, at, (uint32_t)nc_min(len, total - at));
            if (seeded_below(&seeded, 4) == 0) {
                send(&rig, sent, (uint32_t)nc_min(len, total - sent));
                sent += (uint32_t)nc_min(len, total - sent);
            }
        }
        pl_reassembly_flush(&rig.stream, &rig.pool, &rig.output);
        CHECK_EQ(rig.heard.next, total);
        CHECK_EQ(rig.pool.delivered_bytes + rig.pool.gap_bytes, total);
        CHECK_EQ(rig.pool.used, 0);
        CHECK(!roomy || rig.heard.gaps == 0);
    }
}

int main(void)
{
    RUN(in_order_is_delivered_at_once);
    RUN(out_of_order_waits_for_what_is_missing);
    RUN(retransmissions_are_delivered_once);
    RUN(a_full_memory_gives_up_the_gap_not_the_data);
    RUN(what_the_capture_cut_off_is_a_gap);
    RUN(what_was_acknowledged_and_never_seen_becomes_a_gap);
    RUN(strays_do_no_harm);
    RUN(any_order_gives_the_stream);
    return 0;
}
