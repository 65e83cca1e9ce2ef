/* FQ-CoDel must keep what RFC 8290 promises about shares, sparse flows, bounds and marks. Tested at the bottleneck and
 * in virtual time. */
#include "bottleneck.h"
#include "check.h"
#include "nc_clock.h"
#include "random.h"

enum { RATE_BPS = 10000000, QUANTUM = 1514, FLOWS = 40 };

/* A bottleneck of 10 Mbit/s, and statistics of each flow's packets. */
struct world {
    struct params params;
    struct models models;
    struct bottleneck bottleneck;
    uint64_t number;
    uint64_t sent_bytes[FLOWS], sent[FLOWS], marked[FLOWS], full[FLOWS], managed[FLOWS];
    uint64_t longest_wait_ns[FLOWS]; /* waits, from arrival to the start on the line */
};

static struct models models_of(const char *text)
{
    struct models models = {.rate = {.kind = RATE_CONSTANT, .rate_bps = RATE_BPS}};
    struct nc_error error;
    CHECK_DONE(aqm_parse(text, &models.aqm, &error), text, error);
    return models;
}

static struct world *world_of(const char *text, uint64_t key)
{
    struct world *w = calloc(1, sizeof *w);
    CHECK(w);
    w->models = models_of(text);
    bottleneck_init(&w->bottleneck, key);
    return w;
}

static void end(struct world *w)
{
    bottleneck_free(&w->bottleneck);
    free(w);
}

static uint64_t line_ns(uint64_t bytes)
{
    return bytes * 8 * NC_NS_PER_S / RATE_BPS;
}

/* Arrivals, by packet number. */
static uint64_t came_ns[1 << 20];

static void serve(struct world *w, uint64_t until_ns)
{
    struct wire_packet p;
    enum fate fate;
    while (bottleneck_next(&w->bottleneck, &w->params, &w->models, until_ns, &p, &fate)) {
        w->full[p.flow] += fate == FATE_QUEUE;
        w->managed[p.flow] += fate == FATE_AQM;
        if (fate != FATE_PASS)
            continue;
        uint64_t wait_ns = p.time_ns - line_ns(p.l2_bytes) - came_ns[p.number];
        w->sent[p.flow]++;
        w->sent_bytes[p.flow] += p.l2_bytes;
        w->marked[p.flow] += (p.edits & EDIT_CE) != 0;
        if (wait_ns > w->longest_wait_ns[p.flow])
            w->longest_wait_ns[p.flow] = wait_ns;
    }
}

static void arrive(struct world *w, uint64_t flow, uint64_t now_ns, uint32_t bytes, bool ect)
{
    struct wire_packet p = {.number = w->number++, .flow = flow, .time_ns = now_ns, .l2_bytes = bytes, .ect = ect};
    CHECK(p.number < sizeof came_ns / sizeof came_ns[0]);
    came_ns[p.number] = now_ns;
    serve(w, now_ns);
    CHECK_EQ(bottleneck_offer(&w->bottleneck, &w->params, &w->models, &p), FATE_PASS); /* drops come out of serve */
    serve(w, now_ns);
}

/* Two flows for 20 s. Flow i offers `bytes[i]` every `gap_ns[i]`. */
static void compete(struct world *w, const uint64_t gap_ns[2], const uint32_t bytes[2])
{
    uint64_t next_ns[2] = {0, gap_ns[1] / 3};
    for (uint64_t now_ns = 0; now_ns < 20 * NC_NS_PER_S;) {
        int i = next_ns[1] < next_ns[0];
        now_ns = next_ns[i];
        next_ns[i] += gap_ns[i];
        arrive(w, (uint64_t)i, now_ns, bytes[i], false);
    }
}

/* Neither flow responds to drops. One offers ten times as much as the other, or packets a fifth as long. */
static void bulk_flows_share_within_5_percent(void)
{
    static const struct {
        uint64_t gap_ns[2];
        uint32_t bytes[2];
    } cases[] = {
        {{1000000, 1000000}, {1514, 1514}}, {{200000, 2000000}, {1514, 1514}}, {{1000000, 200000}, {1514, 300}}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct world *w = world_of("fq_codel", random_key(3, 0, 7));
        compete(w, cases[c].gap_ns, cases[c].bytes);
        double half = (double)(w->sent_bytes[0] + w->sent_bytes[1]) / 2;
        CHECK((double)w->sent_bytes[0] > 0.95 * half && (double)w->sent_bytes[1] > 0.95 * half);
        CHECK(half * 16 > 0.99 * 20 * RATE_BPS); /* the line was busy */
        CHECK(w->managed[0] + w->full[0] > 100);
        end(w);
    }
}

/* A flow with one packet every 50 ms, next to two bulk flows that are no longer new. It must only wait for the packet
 * on the line. */
static void a_sparse_flow_waits_less_than_a_quantum(void)
{
    struct world *w = world_of("fq_codel", random_key(4, 0, 7));
    uint64_t sparse_ns = 100777777, sparse = 0;
    for (uint64_t now_ns = 0; now_ns < 20 * NC_NS_PER_S; now_ns += 800000) {
        for (; sparse_ns <= now_ns; sparse_ns += 50 * NC_NS_PER_MS, sparse++)
            arrive(w, 2, sparse_ns, 200, false);
        arrive(w, 0, now_ns, 1514, false);
        arrive(w, 1, now_ns, 1514, false);
    }
    serve(w, UINT64_MAX);
    CHECK_EQ(w->sent[2], sparse);
    CHECK(w->longest_wait_ns[2] < line_ns(QUANTUM));
    CHECK(w->longest_wait_ns[0] > 100 * NC_NS_PER_MS);
    end(w);
}

/* The backlog must never exceed memory, limit or the box's own bound, and only the flow with the largest backlog may
 * lose packets. */
static void a_full_queue_drops_from_its_fattest_flow(void)
{
    static const struct {
        const char *text;
        uint64_t queue_bytes, queue_packets, most_bytes, most_packets;
    } cases[] = {{"fq_codel:memory=300000", 0, 0, 300000, UINT64_MAX},
                 {"fq_codel:limit=200", 0, 0, UINT64_MAX, 200},
                 {"fq_codel", 300000, 0, 300000, UINT64_MAX},
                 {"fq_codel", 0, 200, UINT64_MAX, 200}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct world *w = world_of(cases[c].text, random_key(5, 0, 7));
        w->params.queue_bytes = cases[c].queue_bytes;
        w->params.queue_packets = cases[c].queue_packets;
        const struct queue *queue = &w->bottleneck.queue;
        for (uint64_t i = 0; i < 4000; i++) {
            arrive(w, 0, i * 100000, 1514, false);
            if (i % 20 == 0)
                arrive(w, 1 + i / 20 % 30, i * 100000, 300, false);
            CHECK(queue->bytes <= cases[c].most_bytes && queue->packets <= cases[c].most_packets);
        }
        CHECK(w->full[0] > 1000);
        for (int flow = 1; flow < FLOWS; flow++)
            CHECK_EQ(w->full[flow], 0);
        end(w);
    }
}

/* Half of the flow's backlog is dropped, and at most 64 packets. */
static void drops_come_in_batches(void)
{
    static const struct {
        const char *text;
        uint64_t left;
    } cases[] = {{"fq_codel:limit=1000", 1001 - 64}, {"fq_codel:limit=100", 101 - 51}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct world *w = world_of(cases[c].text, 1);
        for (uint64_t i = 0; w->full[0] == 0; i++)
            arrive(w, 0, 0, 1500, false);
        CHECK_EQ(w->bottleneck.queue.packets, cases[c].left);
        end(w);
    }
}

static void capable_packets_are_marked(void)
{
    for (int ecn = 0; ecn < 2; ecn++) {
        struct world *w = world_of(ecn ? "fq_codel" : "fq_codel:ecn=off", 1);
        for (uint64_t i = 0; i < 20000; i++)
            arrive(w, 0, i * 1100000, 1514, true); /* 10 % more than the line carries */
        serve(w, UINT64_MAX);
        CHECK_EQ(w->marked[0] > 100, ecn);
        CHECK_EQ(w->managed[0] > 100, !ecn);
        end(w);
    }
}

/* Whether flow 0 and flow `other` share one of 1,024 queues under this key. If they do, a burst of flow 0 is in front
 * of the other flow's packet. */
static bool collide(uint64_t key, uint64_t other)
{
    struct world *w = world_of("fq_codel", key);
    for (int i = 0; i < 10; i++)
        arrive(w, 0, 0, 1514, false);
    arrive(w, other, 0, 1514, false);
    serve(w, UINT64_MAX);
    bool behind_all = w->longest_wait_ns[other] > w->longest_wait_ns[0];
    end(w);
    return behind_all;
}

/* Binomial: 20,000 pairs of a flow and a seed, 1 in 1,024 on average, 19.5 ± 5 standard deviations of 4.4. */
static void the_seed_perturbs_the_hash(void)
{
    int pairs = 0;
    for (uint64_t key = 1; key <= 1000; key++)
        for (uint64_t other = 1; other <= 20; other++)
            pairs += collide(random_key(key, 0, 7), other);
    if (pairs < 1 || pairs > 42)
        fprintf(stderr, "%d collisions, want 19.5 +- 22\n", pairs);
    CHECK(pairs >= 1 && pairs <= 42);
}

/* 100 flows in 1,024 queues. With sets of one queue, about 4.8 pairs share a queue by chance (100 * 99 / 2 / 1,024).
 * With 128 sets of 8, a queue is shared only if nine flows hit the same set, which happens once in 60,000 times. */
static void ways_keep_flows_apart(void)
{
    uint64_t collisions[2] = {0};
    for (uint64_t key = 1; key <= 100; key++)
        for (int wide = 0; wide < 2; wide++) {
            struct bottleneck b;
            struct params params = {0};
            struct models models = models_of(wide ? "fq_codel:ways=8" : "fq_codel");
            struct queue_fact facts[QUEUE_FACTS_MAX];
            bottleneck_init(&b, random_key(key, 0, 7));
            for (uint64_t i = 0; i < 200; i++) {
                struct wire_packet p = {.number = i, .flow = i % 100, .l2_bytes = 100};
                CHECK_EQ(bottleneck_offer(&b, &params, &models, &p), FATE_PASS);
            }
            CHECK_EQ(b.queue.discipline->state(&b.queue, facts), 5);
            collisions[wide] += facts[3].value;
            bottleneck_free(&b);
        }
    CHECK(collisions[0] > 2 * 350 && collisions[0] < 2 * 600); /* 483 +- 5 deviations of 22, two packets each */
    CHECK(collisions[1] <= 4);
}

/* When all queues of its set are taken, flows share them. Fairness is then as with sets of one queue. */
static void more_flows_than_queues_still_pass(void)
{
    struct bottleneck b;
    struct params params = {0};
    struct models models = models_of("fq_codel:ways=8,target=1h,interval=1h");
    struct wire_packet out;
    enum fate fate;
    uint64_t last[3000] = {0}, left = 0;
    bottleneck_init(&b, 1);
    for (uint64_t i = 0; i < 9000; i++) {
        struct wire_packet p = {.number = i, .flow = i % 3000, .l2_bytes = 100};
        CHECK_EQ(bottleneck_offer(&b, &params, &models, &p), FATE_PASS);
    }
    for (; bottleneck_next(&b, &params, &models, UINT64_MAX, &out, &fate); left++) {
        CHECK_EQ(fate, FATE_PASS);
        CHECK(out.number >= last[out.flow]); /* in its order */
        last[out.flow] = out.number;
    }
    CHECK_EQ(left, 9000);
    bottleneck_free(&b);
}

/* Of successive acknowledgements of one flow only the last one is sent. Acknowledgements that repeat a number, that
 * belong to another flow, or that carry more than a number are not removed. */
static void replaced_acknowledgements_are_dropped(void)
{
    static const struct {
        uint64_t flow;
        uint32_t ack;
        bool only, stays;
    } packets[] = {{1, 0xfffffff0, true, true}, /* this packet goes onto the line at once */
                   {1, 0xfffffff8, true, false}, {1, 100, true, false}, {1, 200, true, true}, /* before data */
                   {1, 300, false, true},        {1, 400, true, true}, /* before its repetition */
                   {1, 400, true, false},        {1, 500, true, true},  {2, 100, true, false}, {2, 150, true, true}};
    enum { N = sizeof packets / sizeof packets[0] };
    for (int on = 0; on < 2; on++) {
        struct bottleneck b;
        struct params params = {0};
        struct models models = models_of(on ? "fq_codel:ack_filter=on" : "fq_codel");
        struct wire_packet out;
        enum fate fate;
        uint64_t dropped = 0;
        bottleneck_init(&b, 1);
        for (uint64_t i = 0; i < N; i++) {
            struct wire_packet p = {.number = i, .flow = packets[i].flow, .l2_bytes = 66};
            p.ack = packets[i].ack;
            p.ack_only = packets[i].only;
            CHECK_EQ(bottleneck_offer(&b, &params, &models, &p), FATE_PASS);
            if (i == 0)
                CHECK(bottleneck_next(&b, &params, &models, 0, &out, &fate));
        }
        while (bottleneck_next(&b, &params, &models, UINT64_MAX, &out, &fate)) {
            CHECK_EQ(fate == FATE_PASS, !on || packets[out.number].stays);
            dropped += fate == FATE_AQM;
        }
        CHECK_EQ(dropped, on ? 4 : 0);
        CHECK_EQ(b.queue.packets, 0);
        bottleneck_free(&b);
    }
}

/* A change to drop-tail and back, while 50 packets of each of two flows wait. No packet may be lost, and flows must
 * keep their order. */
static void a_change_of_discipline_keeps_what_waits(void)
{
    struct world *w = world_of("fq_codel:target=1h,interval=1h", 1);
    for (uint64_t i = 0; i < 100; i++)
        arrive(w, i % 2, 0, 1514, false);
    const char *const texts[] = {"none", "codel:target=1h,interval=1h", "fq_codel:target=1h,interval=1h"};
    for (size_t i = 0; i < 3; i++) {
        w->models = models_of(texts[i]);
        serve(w, line_ns(1514) * 10 * (i + 1));
        arrive(w, i % 2, line_ns(1514) * 10 * (i + 1), 1514, false);
    }
    struct wire_packet p;
    enum fate fate;
    for (uint64_t last[2] = {0, 0}; bottleneck_next(&w->bottleneck, &w->params, &w->models, UINT64_MAX, &p, &fate);
         w->sent[p.flow]++) {
        CHECK_EQ(fate, FATE_PASS);
        CHECK(p.number >= last[p.flow]);
        last[p.flow] = p.number;
    }
    CHECK_EQ(w->sent[0] + w->sent[1], 103);
    CHECK_EQ(bottleneck_occupancy(&w->bottleneck, UINT64_MAX), 0);
    end(w);
}

int main(void)
{
    RUN(bulk_flows_share_within_5_percent);
    RUN(a_sparse_flow_waits_less_than_a_quantum);
    RUN(a_full_queue_drops_from_its_fattest_flow);
    RUN(drops_come_in_batches);
    RUN(capable_packets_are_marked);
    RUN(the_seed_perturbs_the_hash);
    RUN(ways_keep_flows_apart);
    RUN(more_flows_than_queues_still_pass);
    RUN(replaced_acknowledgements_are_dropped);
    RUN(a_change_of_discipline_keeps_what_waits);
    return 0;
}
