/* Step marking: which packets are marked at a bottleneck with 1 ms per packet. */
#include "bottleneck.h"
#include "check.h"
#include "nc_clock.h"

struct world {
    struct params params;
    struct models models;
    struct bottleneck bottleneck;
    uint64_t number;
};

static struct world world_of(const char *text)
{
    struct nc_error error;
    struct world w = {.models.rate = {.kind = RATE_CONSTANT, .rate_bps = 8000000}};
    CHECK_DONE(aqm_parse(text, &w.models.aqm, &error), text, error);
    bottleneck_init(&w.bottleneck, 1);
    return w;
}

static enum fate offer(struct world *w, uint64_t now_ns, uint32_t bytes, bool ect)
{
    struct wire_packet p = {.number = w->number++, .time_ns = now_ns, .l2_bytes = bytes, .ect = ect};
    return bottleneck_offer(&w->bottleneck, &w->params, &w->models, &p);
}

/* How many of the waiting packets are marked; the first waiting packet has number `from`. */
static uint64_t marked_from(struct world *w, uint64_t from)
{
    struct wire_packet out;
    enum fate fate;
    uint64_t marked = 0;
    while (bottleneck_next(&w->bottleneck, &w->params, &w->models, UINT64_MAX, &out, &fate)) {
        CHECK_EQ(fate, FATE_PASS);
        bool mark = out.edits & EDIT_CE;
        CHECK(!mark || out.number >= from);
        marked += mark;
    }
    bottleneck_free(&w->bottleneck);
    return marked;
}

/* A burst of ten packets: the first K find fewer than K packets in front of them. */
static void a_packet_that_finds_k_packets_is_marked(void)
{
    struct world w = world_of("step:packets=4");
    for (int i = 0; i < 10; i++)
        CHECK_EQ(offer(&w, 0, 1000, true), FATE_PASS);
    CHECK_EQ(marked_from(&w, 4), 6);
}

static void bytes_count_as_well(void)
{
    struct world w = world_of("step:packets=0,bytes=2500");
    for (int i = 0; i < 10; i++)
        CHECK_EQ(offer(&w, 0, 500, true), FATE_PASS);
    CHECK_EQ(marked_from(&w, 5), 5);
}

/* The packet on the line counts until its last bit has left. */
static void the_line_counts(void)
{
    struct world w = world_of("step:packets=1");
    struct wire_packet out;
    enum fate fate;
    CHECK_EQ(offer(&w, 0, 1000, true), FATE_PASS);
    CHECK(bottleneck_next(&w.bottleneck, &w.params, &w.models, 0, &out, &fate));
    CHECK_EQ(offer(&w, NC_NS_PER_MS - 1, 1000, true), FATE_PASS);
    CHECK_EQ(marked_from(&w, 1), 1);
    struct world later = world_of("step:packets=1");
    CHECK_EQ(offer(&later, 0, 1000, true), FATE_PASS);
    CHECK(bottleneck_next(&later.bottleneck, &later.params, &later.models, 0, &out, &fate));
    CHECK_EQ(offer(&later, NC_NS_PER_MS, 1000, true), FATE_PASS);
    CHECK_EQ(marked_from(&later, 1), 0);
}

static void others_are_dropped_or_wait(void)
{
    for (int drop = 0; drop < 2; drop++) {
        struct world w = world_of(drop ? "step:packets=2" : "step:packets=2,drop=off");
        for (int i = 0; i < 6; i++)
            CHECK_EQ(offer(&w, 0, 1000, false), drop && i >= 2 ? FATE_AQM : FATE_PASS);
        struct queue_fact facts[QUEUE_FACTS_MAX];
        CHECK_EQ(w.bottleneck.queue.discipline->state(&w.bottleneck.queue, facts), 1);
        CHECK_EQ(facts[0].value, 4);
        CHECK_EQ(marked_from(&w, 0), 0);
    }
}

int main(void)
{
    RUN(a_packet_that_finds_k_packets_is_marked);
    RUN(bytes_count_as_well);
    RUN(the_line_counts);
    RUN(others_are_dropped_or_wait);
    return 0;
}
