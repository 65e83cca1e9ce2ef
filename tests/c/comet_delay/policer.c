/* The policer against a token bucket that the test computes, packet by packet, and against the bound of RFC 2697 on
 * what a bucket lets through. */
#include "bottleneck.h"
#include "check.h"
#include "nc_clock.h"
#include "random.h"

typedef unsigned __int128 wide;

/* A bottleneck without a rate, so that only the policer decides. */
struct world {
    struct params params;
    struct models models;
    struct bottleneck bottleneck;
    uint64_t number, passed, passed_bytes, dropped, marked;
};

static void set(struct world *w, const char *text)
{
    struct nc_error error;
    w->models.rate.kind = RATE_CONSTANT;
    CHECK_DONE(aqm_parse(text, &w->models.aqm, &error), text, error);
}

static void begin(struct world *w, const char *text)
{
    *w = (struct world){.number = 0};
    set(w, text);
    bottleneck_init(&w->bottleneck, 1);
}

/* Offers a packet. If it passes, it leaves at once. Returns its fate. */
static enum fate offer(struct world *w, uint64_t now_ns, uint32_t bytes, bool ect)
{
    struct wire_packet p = {.number = w->number++, .time_ns = now_ns, .l2_bytes = bytes, .ect = ect}, out;
    enum fate fate = bottleneck_offer(&w->bottleneck, &w->params, &w->models, &p), sent;
    bool left = bottleneck_next(&w->bottleneck, &w->params, &w->models, now_ns, &out, &sent);
    CHECK_EQ(left, fate == FATE_PASS);
    w->dropped += fate == FATE_POLICER;
    if (!left)
        return fate;
    CHECK_EQ(sent, FATE_PASS);
    CHECK_EQ(out.number, p.number);
    CHECK_EQ(out.time_ns, now_ns);
    w->passed++;
    w->passed_bytes += bytes;
    w->marked += (out.edits & EDIT_CE) != 0;
    return fate;
}

/* The same bucket as a virtual schedule (GCRA, ITU-T I.371): a packet conforms unless it comes earlier than `depth`
 * before its theoretical time. In bits x 1e9, so that nothing is rounded. */
static bool is_within(wide *theoretical, uint64_t now_ns, uint64_t rate_bps, uint64_t burst, uint32_t bytes)
{
    wide now = (wide)now_ns * rate_bps, need = (wide)bytes * 8 * NC_NS_PER_S, depth = (wide)burst * 8 * NC_NS_PER_S;
    wide begin = *theoretical > now ? *theoretical : now;
    if (begin + need > now + depth)
        return false;
    *theoretical = begin + need;
    return true;
}

static void every_packet_has_the_fate_that_a_bucket_gives_it(void)
{
    uint64_t dropped = 0, passed = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct world w;
        uint64_t rate_bps = 1 + random_u64(seed, 0) % (seed % 4 ? 1000000000 : 1000);
        uint64_t burst = 1 + random_u64(seed, 1) % 200000, now_ns = 0;
        uint64_t gap_ns = seed % 4 ? 2 * (8 * 800 * NC_NS_PER_S / rate_bps + 1) : 10 * NC_NS_PER_S;
        char text[AQM_TEXT_MAX];
        wide theoretical = 0;
        snprintf(text, sizeof text, "policer:rate=%llubit,burst=%llu", (unsigned long long)rate_bps,
                 (unsigned long long)burst);
        begin(&w, text);
        for (uint64_t i = 0; i < 5000; i++) {
            uint64_t draw = random_u64(seed ^ 77, i);
            uint32_t bytes = 40 + (uint32_t)(draw % 1500);
            now_ns += i % 100 < 50 ? (draw >> 20) % gap_ns : (draw >> 20) % gap_ns / 8;
            enum fate want = is_within(&theoretical, now_ns, rate_bps, burst, bytes) ? FATE_PASS : FATE_POLICER;
            enum fate got = offer(&w, now_ns, bytes, false);
            if (got != want)
                fprintf(stderr, "seed %llu, packet %llu\n", (unsigned long long)seed, (unsigned long long)i);
            CHECK_EQ(got, want);
        }
        dropped += w.dropped;
        passed += w.passed;
        bottleneck_free(&w.bottleneck);
    }
    CHECK(dropped > 20000 && passed > 20000); /* both happen often */
}

/* At twice the rate: from the start up to any time t, at most burst + rate × t may pass, and at least one packet less
 * than that. */
static void what_passes_is_the_burst_and_the_rate(void)
{
    struct world w;
    begin(&w, "policer:rate=10Mbit,burst=30000");
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t now_ns = i * 600000; /* 1,500 bytes at 20 Mbit/s */
        offer(&w, now_ns, 1500, false);
        uint64_t most = 30000 + now_ns / 800; /* 800 ns a byte */
        CHECK(w.passed_bytes <= most);
        if (i > 100)
            CHECK(w.passed_bytes + 1500 > most);
    }
    bottleneck_free(&w.bottleneck);
}

static void capable_packets_are_marked_and_others_dropped(void)
{
    struct world w;
    begin(&w, "policer:rate=1Mbit,burst=3000,ecn=on");
    for (uint64_t i = 0; i < 10; i++)
        CHECK_EQ(offer(&w, 0, 1500, true), FATE_PASS);
    CHECK_EQ(w.marked, 8); /* two are within the burst */
    CHECK_EQ(offer(&w, 0, 1500, false), FATE_POLICER);
    CHECK_EQ(offer(&w, 12000000, 1500, true), FATE_PASS); /* marks took no tokens */
    CHECK_EQ(w.marked, 8);
    CHECK_EQ(w.dropped, 1);
    bottleneck_free(&w.bottleneck);
}

static uint64_t fact(const struct world *w, const char *name)
{
    struct queue_fact facts[QUEUE_FACTS_MAX];
    size_t n = w->bottleneck.queue.discipline->state(&w->bottleneck.queue, facts);
    for (size_t i = 0; i < n; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    return UINT64_MAX;
}

/* A smaller bucket loses its excess, a deeper one keeps what it had and has room for more. */
static void its_bucket_follows_the_settings(void)
{
    struct world w;
    begin(&w, "policer:rate=8Mbit,burst=10000");
    CHECK_EQ(offer(&w, 0, 1000, false), FATE_PASS);
    CHECK_EQ(fact(&w, "tokens_bytes"), 9000);
    set(&w, "policer:rate=8Mbit,burst=2000");
    CHECK_EQ(offer(&w, 0, 1500, false), FATE_POLICER); /* it lacks 1,000 still */
    CHECK_EQ(fact(&w, "tokens_bytes"), 1000);
    CHECK_EQ(fact(&w, "over_packets"), 1);
    CHECK_EQ(fact(&w, "over_bytes"), 1500);
    CHECK_EQ(offer(&w, NC_NS_PER_MS, 1500, false), FATE_PASS); /* 1,000 bytes a millisecond */
    set(&w, "policer:rate=16Mbit,burst=2000");
    CHECK_EQ(offer(&w, 2 * NC_NS_PER_MS, 2000, false), FATE_PASS);
    CHECK_EQ(fact(&w, "tokens_bytes"), 0);
    bottleneck_free(&w.bottleneck);
}

/* A packet that the policer passes still meets the line's queue. It takes its tokens even if that queue has no room for
 * it. */
static void the_queue_stands_behind_it(void)
{
    struct world w;
    begin(&w, "policer:rate=8Mbit,burst=6000");
    w.models.rate.rate_bps = 8000000;
    w.params.queue_packets = 2;
    struct wire_packet p = {.l2_bytes = 1500};
    const enum fate want[] = {FATE_PASS, FATE_PASS, FATE_QUEUE, FATE_QUEUE, FATE_POLICER};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++, p.number++)
        CHECK_EQ(bottleneck_offer(&w.bottleneck, &w.params, &w.models, &p), want[i]);
    bottleneck_free(&w.bottleneck);
}

int main(void)
{
    RUN(every_packet_has_the_fate_that_a_bucket_gives_it);
    RUN(what_passes_is_the_burst_and_the_rate);
    RUN(capable_packets_are_marked_and_others_dropped);
    RUN(its_bucket_follows_the_settings);
    RUN(the_queue_stands_behind_it);
    return 0;
}
