/* The recorder from end to end in virtual time: a direction writes a ring, pktlogger's reader reads it, and the
 * reader's report of every wire packet is compared with the direction's actions. */
#include "recorder.h"

#include "check.h"
#include "direction.h"
#include "nc_clock.h"
#include "packets.h"
#include "replay.h"
#include "random.h"
#include "ready.h"

enum { MSS = 1448, HEADERS = 54, NUMBERS = 200000 };

/* What the reader reported, by the number of the wire packet. */
struct told {
    uint8_t in[NUMBERS], out[NUMBERS], done[NUMBERS];
    struct pl_replay_part part[NUMBERS];
    uint64_t arrival_ns[NUMBERS];
    uint32_t seq[NUMBERS];
    uint64_t last_ns, gap_packets, copies;
    struct line_step {
        uint64_t t_ns;
        struct comet_record_line line;
    } lines[16];
    unsigned line_n;
};

static void in_order(struct told *told, uint64_t t_ns)
{
    CHECK(t_ns >= told->last_ns);
    told->last_ns = t_ns;
}

static void on_in(void *context, unsigned direction, struct pl_replay_frame *frame)
{
    struct told *told = context;
    CHECK_EQ(direction, 0);
    in_order(told, frame->arrival_ns);
    for (uint32_t i = 0; i < frame->parts; i++) {
        told->in[frame->number + i]++;
        told->arrival_ns[frame->number + i] = frame->arrival_ns;
        told->seq[frame->number + i] = frame->super.packet.tcp.seq + i * frame->super.part_len;
    }
}

static void on_out(void *context, unsigned direction, const struct pl_replay_out *out)
{
    struct told *told = context;
    (void)direction;
    in_order(told, out->t_ns);
    for (uint32_t i = 0; i < out->count; i++)
        told->out[out->frame->number + out->first + i]++;
}

static void on_done(void *context, unsigned direction, const struct pl_replay_frame *frame)
{
    struct told *told = context;
    (void)direction;
    for (uint32_t i = 0; i < frame->parts; i++) {
        told->done[frame->number + i]++;
        told->part[frame->number + i] = frame->part[i];
    }
    told->copies += frame->copy_n;
}

static void on_gap(void *context, unsigned direction, const struct comet_record *record)
{
    struct told *told = context;
    (void)direction;
    told->gap_packets += record->gap_packets;
}

static void on_line(void *context, unsigned direction, const struct comet_record *record)
{
    struct told *told = context;
    CHECK_EQ(direction, 0);
    CHECK(told->line_n < sizeof told->lines / sizeof *told->lines);
    told->lines[told->line_n++] = (struct line_step){record->t_ns, record->line};
}

/* A direction, its ring and its reader. */
struct bench {
    struct direction d;
    struct recorder ring;
    struct comet_record_ring shared;
    uint8_t *slots;
    uint64_t n;
    struct pl_replay reader;
    struct told told;
    uint64_t seq;
};

static struct bench *make(struct params params, uint64_t slots)
{
    struct bench *b = calloc(1, sizeof *b);
    CHECK(b);
    direction_ready(&b->d, params, 50000);
    b->slots = aligned_alloc(64, slots * COMET_RECORD_SLOT);
    b->n = slots;
    recorder_init(&b->ring, &b->shared, b->slots, slots, 128);
    b->d.recorder = &b->ring;
    struct pl_replay_sink sink = {on_in, on_out, on_done, on_gap, &b->told, on_line};
    pl_replay_init(&b->reader, &sink);
    return b;
}

/* Reads the ring as the reader's own process would. */
static void read_ring(struct bench *b, bool last)
{
    uint64_t head = atomic_load(&b->shared.head);
    for (uint64_t at = atomic_load(&b->shared.tail); at != head;) {
        uint64_t index = at % b->n, count = head - at < b->n - index ? head - at : b->n - index;
        const uint8_t *slots = b->slots + index * COMET_RECORD_SLOT;
        uint64_t taken = pl_replay_read(&b->reader, 0, slots, slots + count * COMET_RECORD_SLOT, 1000);
        CHECK(taken > 0);
        atomic_store(&b->shared.tail, at += taken);
    }
    const uint64_t least_ns[2] = {last ? UINT64_MAX : b->reader.direction[0].seen_ns, UINT64_MAX};
    pl_replay_emit(&b->reader, least_ns);
    CHECK_EQ(b->reader.direction[0].damaged, 0);
    CHECK_EQ(b->reader.direction[0].unmatched, 0);
}

static void take(struct bench *b, uint32_t parts, uint64_t now_ns)
{
    struct packet_buffer *packet = direction_reserve(&b->d);
    CHECK(packet != NULL);
    direction_take(&b->d, packet, make_tcp4(packet->data, (uint32_t)b->seq, parts * MSS, MSS), now_ns);
    b->seq += parts * MSS;
}

static void send_due(struct bench *b, uint64_t now_ns)
{
    struct nc_run run;
    while (direction_due(&b->d, now_ns, &run))
        direction_sent(&b->d, now_ns, random_u64(5, b->d.stats.out_frames) % 50 != 0);
}

static void drop(struct bench *b)
{
    CHECK_EQ(b->ring.reserved, 0); /* nothing is kept for packets that have left */
    direction_free(&b->d);
    pl_replay_free(&b->reader);
    free(b->slots);
    free(b);
}

/* Sends `frames` super-packets of 1 to 40 parts at random times, and runs until the path is empty. */
static void run(struct bench *b, uint64_t frames, unsigned read_every)
{
    uint64_t now_ns = 1000;
    for (uint64_t i = 0; i < frames; i++) {
        now_ns += random_u64(1, i) % 500000;
        take(b, 1 + (uint32_t)(random_u64(2, i) % 40), now_ns);
        send_due(b, now_ns);
        if (read_every && i % read_every == 0)
            read_ring(b, false);
    }
    for (uint64_t next_ns; (next_ns = direction_next_ns(&b->d)) != UINT64_MAX; send_due(b, now_ns))
        now_ns = next_ns > now_ns ? next_ns : now_ns;
    read_ring(b, true);
}

/* Every stage that can drop or change a packet is in use. */
static const struct params everything = {.delay_ns = 5000000,
                                         .rate_bps = 400000000,
                                         .queue_bytes = 300000,
                                         .loss = "gilbert:2%,5",
                                         .loss_after = "1%",
                                         .aqm = "codel:ecn=on",
                                         .pace_packets = 30000,
                                         .pace_buffer_bytes = 60000,
                                         .drain_rate_bps = 340000000,
                                         .drain_buffer_bytes = 15000,
                                         .duplicate_ppb = NC_RATIO_ONE / 50,
                                         .corrupt_ppb = NC_RATIO_ONE / 50,
                                         .jitter = "normal:200us",
                                         .jitter_order = JITTER_REORDERS,
                                         .reorder_ppb = NC_RATIO_ONE / 50,
                                         .reorder_by_ns = 1000000};

/* `without`: a fate that this queue management never causes. */
static void every_packet_has_one_fate(const char *aqm, enum fate without)
{
    struct params params = everything;
    snprintf(params.aqm, sizeof params.aqm, "%s", aqm);
    struct bench *b = make(params, 1 << 20);
    run(b, 3000, 7);
    const struct direction_stats *s = &b->d.stats;
    const struct pl_replay_direction *r = &b->reader.direction[0];
    uint64_t fates[FATE_N] = {0}, outs = 0;
    CHECK(s->in_packets < NUMBERS);
    for (uint64_t i = 0; i < s->in_packets; i++) {
        CHECK_EQ(b->told.in[i], 1);
        CHECK_EQ(b->told.done[i], 1);
        CHECK(b->told.part[i].decided && !b->told.part[i].unsent);
        CHECK_EQ(b->told.seq[i], i * MSS);
        outs += b->told.out[i];
        fates[b->told.part[i].fate]++;
    }
    CHECK_EQ(r->packets, s->in_packets);
    CHECK_EQ(r->sent, s->out_packets);
    CHECK_EQ(outs, s->out_packets);
    CHECK_EQ(b->told.copies, s->duplicated);
    CHECK_EQ(r->dropped[FATE_LOSS], s->drops[FATE_LOSS]);
    CHECK_EQ(r->dropped[FATE_QUEUE], s->drops[FATE_QUEUE]);
    CHECK_EQ(r->dropped[FATE_AQM], s->drops[FATE_AQM]);
    CHECK_EQ(r->dropped[FATE_POLICER], s->drops[FATE_POLICER]);
    CHECK_EQ(r->dropped[FATE_PACE], s->drops[FATE_PACE]);
    CHECK_EQ(r->dropped[FATE_DRAIN], s->drops[FATE_DRAIN]);
    CHECK_EQ(r->dropped[FATE_WRITE], s->drops[FATE_WRITE]);
    CHECK_EQ(fates[FATE_LOSS], s->drops[FATE_LOSS]);
    CHECK_EQ(fates[FATE_QUEUE], s->drops[FATE_QUEUE]);
    for (int cause = FATE_LOSS; cause < FATE_N; cause++)
        CHECK(cause == FATE_MEMORY || cause == FATE_OUTAGE || cause == (int)without ||
              r->dropped[cause] > 0); /* all were at work */
    CHECK_EQ(recorder_skipped(&b->ring), 0);
    drop(b);
}

static void every_packet_has_one_fate_and_the_counters_agree(void)
{
    every_packet_has_one_fate("codel:ecn=on", FATE_POLICER);
    every_packet_has_one_fate("policer:rate=390Mbit,burst=1MB", FATE_AQM);
}

static void times_are_the_models_to_the_nanosecond(void)
{
    /* 10 Gbit/s: 1201.6 ns a packet, so steps vary; the delay is exact */
    struct bench *b = make((struct params){.delay_ns = 7000000, .rate_bps = UINT64_C(10000000000)}, 1 << 16);
    take(b, 44, 1000);
    take(b, 40, 1000);
    send_due(b, 8000000);
    read_ring(b, true);
    for (uint64_t i = 0; i < 84; i++) {
        const struct pl_replay_part *part = &b->told.part[i];
        CHECK_EQ(b->told.arrival_ns[i], 1000);
        CHECK_EQ(part->exit_ns, 1000 + (i + 1) * (MSS + HEADERS) * 8 / 10);
        CHECK_EQ(part->t_ns, part->exit_ns + 7000000);
        CHECK_EQ(part->sent_ns, part->fate == FATE_PASS ? 8000000 : 0);
    }
    CHECK(atomic_load(&b->shared.head) < 20); /* they do not take a record each */
    drop(b);
}

static void what_finds_no_room_is_skipped_whole_and_told_of(void)
{
    struct bench *b = make(
        (struct params){.delay_ns = 5000000, .rate_bps = 2000000000, .loss = "5%", .duplicate_ppb = NC_RATIO_ONE / 50},
        700);
    run(b, 3000, 40);
    const struct direction_stats *s = &b->d.stats;
    uint64_t recorded = 0;
    for (uint64_t i = 0; i < s->in_packets; i++) {
        recorded += b->told.done[i];
        CHECK(!b->told.done[i] || (b->told.part[i].decided && !b->told.part[i].unsent));
    }
    uint64_t skipped = atomic_load(&b->shared.skipped_packets);
    CHECK(skipped > s->in_packets / 10 && recorded > s->in_packets / 10);
    CHECK_EQ(recorded + skipped, s->in_packets);
    CHECK(b->told.gap_packets <= skipped && b->told.gap_packets > 0); /* no record may report the last gap */
    CHECK_EQ(b->told.gap_packets + b->ring.gap.packets, skipped);
    CHECK_EQ(atomic_load(&b->shared.skipped_copies), 0);
    drop(b);
}

static void without_a_reader_the_first_packets_stay(void)
{
    struct bench *b = make((struct params){.delay_ns = 1000000}, 256);
    run(b, 1000, 0);
    uint64_t first_missing = 0;
    while (b->told.done[first_missing])
        first_missing++;
    CHECK(first_missing > 100);
    CHECK_EQ(atomic_load(&b->shared.skipped_first), first_missing);
    drop(b);
}

static void packets_without_memory_are_recorded_as_such(void)
{
    static uint8_t buf[70000];
    struct bench *b = make((struct params){0}, 1024);
    direction_refuse(&b->d, buf, make_tcp4(buf, 0, 3 * MSS, MSS), 77);
    send_due(b, 100);
    read_ring(b, true);
    CHECK_EQ(b->reader.direction[0].dropped[FATE_MEMORY], 3);
    CHECK_EQ(b->told.part[2].t_ns, 77);
    drop(b);
}

static void change(struct bench *b, struct params params, uint64_t now_ns)
{
    struct models models;
    struct nc_error error;
    CHECK_EQ(models_rebuild(&params, &b->d.params, &b->d.models, &models, &error), 0);
    direction_set(&b->d, &params, &models, now_ns);
}

static void says(const struct bench *b, unsigned i, uint64_t t_ns, uint64_t rate_bps, uint32_t overhead_bytes)
{
    CHECK(i < b->told.line_n);
    CHECK_EQ(b->told.lines[i].t_ns, t_ns);
    CHECK_EQ(b->told.lines[i].line.rate_bps, rate_bps);
    CHECK_EQ(b->told.lines[i].line.overhead_bytes, overhead_bytes);
}

/* The rate of the slowest stage is recorded, and each change is recorded when it takes effect. */
static void the_line_is_told_of(void)
{
    struct bench *b = make((struct params){.framing = FRAMING_ETHERNET, .rate_bps = 50000000, .channels = 2}, 1024);
    direction_tell_line(&b->d, 5);
    struct params params = b->d.params;
    params.access_rate_bps = 80000000;
    change(b, params, 1000);
    params.access_rate_bps = 0;
    params.drain_rate_bps = 35000000;
    params.framing = FRAMING_IP;
    change(b, params, 2000);
    params.rate_bps = params.drain_rate_bps = 0;
    params.pace_packets = 700;
    change(b, params, 3000);
    take(b, 1, 4000);
    send_due(b, 1000000000);
    read_ring(b, true);
    CHECK_EQ(b->told.line_n, 4);
    says(b, 0, 5, 100000000, 38);
    says(b, 1, 1000, 80000000, 38);
    says(b, 2, 2000, 35000000, 0);
    says(b, 3, 3000, COMET_RECORD_UNBOUNDED, 0);
    CHECK_EQ(b->told.lines[2].line.packets_per_s, COMET_RECORD_UNBOUNDED);
    CHECK_EQ(b->told.lines[3].line.packets_per_s, 700);
    CHECK(!b->told.lines[1].line.queues_behind && b->told.lines[2].line.queues_behind);
    drop(b);
}

/* The steps of a rate trace are recorded in advance. If another parameter is set in between, the remaining steps are
 * recorded again. */
static void steps_of_a_rate_trace_are_told_of(void)
{
    struct bench *b = make((struct params){.delay_ns = 1000000}, 1024);
    struct params params = b->d.params;
    snprintf(params.rate_trace, sizeof params.rate_trace, "rate:0s=10Mbit,1s=0bit,2s=5Mbit");
    change(b, params, NC_NS_PER_S);
    params.delay_ns = 2000000;
    change(b, params, 5 * NC_NS_PER_S / 2);
    take(b, 1, 3 * NC_NS_PER_S);
    send_due(b, 60 * NC_NS_PER_S);
    read_ring(b, true);
    CHECK_EQ(b->told.line_n, 5);
    says(b, 0, NC_NS_PER_S, 10000000, 14);
    says(b, 1, 2 * NC_NS_PER_S, 0, 14);
    says(b, 2, 3 * NC_NS_PER_S, 5000000, 14);
    says(b, 3, 5 * NC_NS_PER_S / 2, 0, 14);
    says(b, 4, 3 * NC_NS_PER_S, 5000000, 14);
    drop(b);
}

int main(void)
{
    RUN(every_packet_has_one_fate_and_the_counters_agree);
    RUN(times_are_the_models_to_the_nanosecond);
    RUN(what_finds_no_room_is_skipped_whole_and_told_of);
    RUN(without_a_reader_the_first_packets_stay);
    RUN(packets_without_memory_are_recorded_as_such);
    RUN(the_line_is_told_of);
    RUN(steps_of_a_rate_trace_are_told_of);
    return 0;
}
