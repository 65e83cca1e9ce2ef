/* CoDel against times calculated by hand, and against an independent implementation of the RFC's pseudo-code. */
#include <math.h>

#include "aqm_line.h"
#include "check.h"
#include "nc_clock.h"
#include "random.h"

enum { BYTES = 1500, DEEP = 100000 };
#define MS NC_NS_PER_MS

static enum aqm_verdict leave(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns, uint64_t sojourn_ns)
{
    return aqm_dequeue(aqm, params, now_ns, sojourn_ns, DEEP, BYTES, params->ecn, 1, 0);
}

static const struct aqm_params presets = {.algorithm = AQM_CODEL, .codel = {5 * MS, 100 * MS}};

/* The first drop comes an interval after the delay rose; the next ones after interval / sqrt(1), / sqrt(2), / sqrt(3),
 * … */
static void drops_follow_the_square_root(void)
{
    static const uint64_t gaps_ns[] = {100000000, 70710678, 57735026, 50000000, 44721359,
                                       40824829,  37796447, 35355339, 33333333};
    struct aqm aqm = {0};
    uint64_t at = 7 * MS;
    CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_PASS);
    at += 100 * MS;
    CHECK_EQ(leave(&aqm, &presets, at - 1, 6 * MS), AQM_PASS);
    CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_DROP);
    CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_PASS);
    for (size_t i = 0; i < sizeof gaps_ns / sizeof gaps_ns[0]; i++) {
        at += gaps_ns[i];
        CHECK_EQ(leave(&aqm, &presets, at - 1, 6 * MS), AQM_PASS);
        CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_DROP);
        CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_PASS); /* what the RFC's loop dequeues next */
    }
}

static void one_packet_below_target_ends_it(void)
{
    struct aqm aqm = {0};
    leave(&aqm, &presets, 0, 6 * MS);
    CHECK_EQ(leave(&aqm, &presets, 100 * MS, 6 * MS), AQM_DROP);
    CHECK_EQ(leave(&aqm, &presets, 110 * MS, 5 * MS - 1), AQM_PASS);
    CHECK_EQ(leave(&aqm, &presets, 111 * MS, 6 * MS), AQM_PASS); /* a new interval starts */
    CHECK_EQ(leave(&aqm, &presets, 211 * MS - 1, 6 * MS), AQM_PASS);
    CHECK_EQ(leave(&aqm, &presets, 211 * MS, 6 * MS), AQM_DROP);
    /* with at most one packet behind it, a late packet is no evidence of a standing queue */
    CHECK_EQ(aqm_dequeue(&aqm, &presets, 400 * MS, 90 * MS, BYTES, BYTES, false, 1, 0), AQM_PASS);
    CHECK_EQ(leave(&aqm, &presets, 401 * MS, 90 * MS), AQM_PASS);
}

/* After five drops (count 5) and a pause, dropping begins again. If this is within 16 intervals, it begins at count 5 -
 * 1 = 4, with a spacing of 50 ms; after a longer pause it begins at 1. */
static void count_is_used_again(void)
{
    for (int recent = 0; recent < 2; recent++) {
        struct aqm aqm = {0};
        uint64_t at = 0;
        leave(&aqm, &presets, at, 6 * MS);
        at = 100 * MS;
        CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_DROP);
        leave(&aqm, &presets, at, 6 * MS);
        static const uint64_t gaps_ns[] = {100000000, 70710678, 57735026, 50000000};
        for (int i = 0; i < 4; i++) {
            at += gaps_ns[i];
            CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_DROP);
            CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_PASS);
        }
        CHECK_EQ(leave(&aqm, &presets, at + MS, 0), AQM_PASS);
        at = aqm.codel.drop_next_ns + 16 * 100 * MS - (recent ? 1 : 0); /* the border itself */
        leave(&aqm, &presets, at - 100 * MS, 6 * MS);
        CHECK_EQ(leave(&aqm, &presets, at, 6 * MS), AQM_DROP);
        leave(&aqm, &presets, at, 6 * MS);
        uint64_t gap = recent ? 50 * MS : 100 * MS;
        CHECK_EQ(leave(&aqm, &presets, at + gap - 1, 6 * MS), AQM_PASS);
        CHECK_EQ(leave(&aqm, &presets, at + gap, 6 * MS), AQM_DROP);
    }
}

static void ecn_marks_on_the_same_schedule(void)
{
    struct aqm_params params = presets;
    params.ecn = true;
    struct aqm aqm = {0};
    uint64_t at = 100 * MS;
    leave(&aqm, &params, 0, 6 * MS);
    CHECK_EQ(leave(&aqm, &params, at, 6 * MS), AQM_MARK);
    CHECK_EQ(leave(&aqm, &params, at += 100 * MS, 6 * MS), AQM_MARK);
    CHECK_EQ(leave(&aqm, &params, at + 70710678 - 1, 6 * MS), AQM_PASS);
    CHECK_EQ(leave(&aqm, &params, at += 70710678, 6 * MS), AQM_MARK);
    /* not ECN-capable */
    CHECK_EQ(aqm_dequeue(&aqm, &params, at += 57735026, 6 * MS, DEEP, BYTES, false, 1, 0), AQM_DROP);
}

/* RFC 8289, section 5, with the structure of its pseudo-code: one dequeue call returns one packet and drops as many as
 * it must. */
struct rfc_packet {
    uint64_t tstamp, number;
    uint32_t bytes;
};
struct rfc_codel {
    struct rfc_packet *queue;
    uint64_t head, tail, bytes;
    uint64_t first_above_time, drop_next;
    uint32_t count, lastcount, maxpacket;
    bool dropping;
    uint64_t *dropped; /* packet numbers, and when */
    uint64_t *dropped_at;
    uint64_t dropped_n;
};

static uint64_t rfc_control_law(uint64_t t, uint32_t count)
{
    return t + (uint64_t)floorl((long double)(100 * MS) / sqrtl((long double)count));
}

static bool rfc_dodequeue(struct rfc_codel *c, uint64_t now, struct rfc_packet *p, bool *ok_to_drop)
{
    *ok_to_drop = false;
    if (c->tail == c->head) {
        c->first_above_time = 0;
        return false;
    }
    *p = c->queue[c->tail++];
    c->bytes -= p->bytes;
    if (now - p->tstamp < 5 * MS || c->bytes <= c->maxpacket)
        c->first_above_time = 0;
    else if (c->first_above_time == 0)
        c->first_above_time = now + 100 * MS;
    else if (now >= c->first_above_time)
        *ok_to_drop = true;
    return true;
}

static void rfc_drop(struct rfc_codel *c, uint64_t now, const struct rfc_packet *p)
{
    c->dropped[c->dropped_n] = p->number;
    c->dropped_at[c->dropped_n++] = now;
}

static bool rfc_dequeue(struct rfc_codel *c, uint64_t now, struct rfc_packet *p)
{
    bool ok_to_drop, got = rfc_dodequeue(c, now, p, &ok_to_drop);
    if (c->dropping) {
        if (!ok_to_drop)
            c->dropping = false;
        while (now >= c->drop_next && c->dropping) {
            rfc_drop(c, now, p);
            got = rfc_dodequeue(c, now, p, &ok_to_drop);
            if (!ok_to_drop) {
                c->dropping = false;
            } else {
                ++c->count;
                c->drop_next = rfc_control_law(c->drop_next, c->count);
            }
        }
    } else if (ok_to_drop) {
        rfc_drop(c, now, p);
        got = rfc_dodequeue(c, now, p, &ok_to_drop);
        c->dropping = true;
        uint32_t delta = c->count - c->lastcount;
        c->count = 1;
        if (delta > 1 && now - c->drop_next < 16 * 100 * MS)
            c->count = delta;
        c->drop_next = rfc_control_law(now, c->count);
        c->lastcount = c->count;
    }
    return got;
}

struct drops {
    uint64_t *number, *at, n;
};

static void note(void *context, const struct aqm_line_packet *packet, uint64_t now_ns, enum aqm_verdict verdict)
{
    struct drops *drops = context;
    if (verdict != AQM_DROP)
        return;
    drops->number[drops->n] = packet->number;
    drops->at[drops->n++] = now_ns;
}

/* Random bursts and pauses of random load and packet size: about 30 minutes of a 10 Mbit/s line. */
static uint64_t workload(uint64_t seed, uint64_t n, uint64_t *arrival_ns, uint32_t *bytes)
{
    uint64_t now = MS, gap = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t draw = random_u64(seed, i);
        if (draw % 1009 == 0)
            gap = 300000 + (draw >> 20) % 1500000; /* 1,500 bytes take 1.2 ms */
        if (draw % 20011 == 0)
            now += (draw >> 20) % (4 * NC_NS_PER_S);
        now += gap / 2 + (draw >> 24) % (gap + 1);
        arrival_ns[i] = now;
        bytes[i] = draw % 3 ? 1500 : 64 + (uint32_t)(draw >> 40) % 1400;
    }
    return now;
}

/* Serves all arrivals by the pseudo-code, on a line of `rate`. */
static void rfc_serve(struct rfc_codel *rfc, uint64_t n, const uint64_t *arrival, const uint32_t *bytes, uint64_t rate)
{
    uint64_t next = 0, free_ns = 0;
    for (struct rfc_packet p = {0}; next < n || rfc->tail != rfc->head;) {
        /* the line takes a packet when it is free and a packet is there; arrivals up to then come first */
        uint64_t now = rfc->tail != rfc->head ? free_ns : free_ns > arrival[next] ? free_ns : arrival[next];
        for (; next < n && arrival[next] < now + (rfc->tail == rfc->head); next++) {
            rfc->queue[rfc->head++] = (struct rfc_packet){arrival[next], next, bytes[next]};
            rfc->bytes += bytes[next];
            if (bytes[next] > rfc->maxpacket)
                rfc->maxpacket = bytes[next];
        }
        if (rfc_dequeue(rfc, now, &p))
            free_ns = now + (uint64_t)p.bytes * 8 * NC_NS_PER_S / rate;
    }
}

/* Both must have dropped the same packets at the same times. */
static void same_drops(const struct drops *drops, const struct rfc_codel *rfc, uint64_t seed)
{
    if (drops->n != rfc->dropped_n || memcmp(drops->number, rfc->dropped, drops->n * 8) ||
        memcmp(drops->at, rfc->dropped_at, drops->n * 8)) {
        uint64_t i = 0;
        while (i < drops->n && i < rfc->dropped_n && drops->number[i] == rfc->dropped[i] &&
               drops->at[i] == rfc->dropped_at[i])
            i++;
        fprintf(stderr, "seed %llu: %llu drops, the pseudo-code %llu; they part at drop %llu\n",
                (unsigned long long)seed, (unsigned long long)drops->n, (unsigned long long)rfc->dropped_n,
                (unsigned long long)i);
        exit(1);
    }
}

static void same_drops_as_the_pseudo_code(void)
{
    enum { N = 200000, RATE = 10000000 };
    for (uint64_t seed = 1; seed <= 8; seed++) {
        uint64_t *arrival = malloc(N * sizeof *arrival), *memory = malloc(4 * N * sizeof *memory);
        uint32_t *bytes = malloc(N * sizeof *bytes);
        struct rfc_codel rfc = {
            .queue = malloc(N * sizeof(struct rfc_packet)), .dropped = memory, .dropped_at = memory + N};
        CHECK(arrival && memory && bytes && rfc.queue);
        uint64_t end = workload(seed, N, arrival, bytes) + 1000 * NC_NS_PER_S;

        struct drops drops = {memory + 2 * N, memory + 3 * N, 0};
        struct aqm_line line;
        aqm_line_init(&line, "codel", RATE, 1);
        line.fate = note;
        line.context = &drops;
        for (uint64_t i = 0; i < N; i++)
            aqm_line_arrive(&line, arrival[i], bytes[i], false);
        aqm_line_serve(&line, end);

        rfc_serve(&rfc, N, arrival, bytes, RATE);
        same_drops(&drops, &rfc, seed);
        CHECK(drops.n > 100); /* the workload does test something */
        free(arrival);
        free(memory);
        free(bytes);
        free(rfc.queue);
        aqm_line_free(&line);
    }
}

static void low_load_passes(void)
{
    aqm_line_passes_low_load("codel");
}

int main(void)
{
    RUN(drops_follow_the_square_root);
    RUN(one_packet_below_target_ends_it);
    RUN(count_is_used_again);
    RUN(ecn_marks_on_the_same_schedule);
    RUN(same_drops_as_the_pseudo_code);
    RUN(low_load_passes);
    return 0;
}
