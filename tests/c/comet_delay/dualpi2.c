/* DualPI2 against RFC 9332, at the bottleneck and in virtual time: the coupling of the two probabilities, the update of
 * the base probability, the step threshold, the order of service, and overload by flows that do not respond. */
#include <math.h>

#include "bottleneck.h"
#include "check.h"
#include "nc_clock.h"

enum { RATE_BPS = 100000000, BYTES = 1250 }; /* a packet takes 100 us */
enum kind { CLASSIC, ECT0, L4S, KINDS };

#define PACKET_NS UINT64_C(100000)

struct world {
    struct params params;
    struct models models;
    struct bottleneck bottleneck;
    uint64_t number, offered[KINDS], sent[KINDS], marked[KINDS], dropped[KINDS], full[KINDS];
    uint64_t longest_ns[KINDS], wait_ns[KINDS]; /* from arrival to the start on the line; their sum */
};

static void set(struct world *w, const char *text)
{
    struct nc_error error;
    w->models.rate = (struct rate_trace){.kind = RATE_CONSTANT, .rate_bps = RATE_BPS};
    CHECK_DONE(aqm_parse(text, &w->models.aqm, &error), text, error);
}

static struct world *world_of(const char *text)
{
    struct world *w = calloc(1, sizeof *w);
    CHECK(w);
    set(w, text);
    bottleneck_init(&w->bottleneck, 1);
    return w;
}

static void end(struct world *w)
{
    bottleneck_free(&w->bottleneck);
    free(w);
}

/* Arrival times and kinds, by packet number. */
static uint64_t came_ns[1 << 20];
static uint8_t kinds[1 << 20];

static void serve(struct world *w, uint64_t until_ns)
{
    struct wire_packet p;
    enum fate fate;
    while (bottleneck_next(&w->bottleneck, &w->params, &w->models, until_ns, &p, &fate)) {
        enum kind kind = kinds[p.number];
        w->dropped[kind] += fate == FATE_AQM;
        CHECK(fate == FATE_AQM || fate == FATE_PASS);
        if (fate != FATE_PASS)
            continue;
        uint64_t wait_ns = p.time_ns - PACKET_NS - came_ns[p.number];
        w->sent[kind]++;
        w->marked[kind] += (p.edits & EDIT_CE) != 0;
        w->wait_ns[kind] += wait_ns;
        if (wait_ns > w->longest_ns[kind])
            w->longest_ns[kind] = wait_ns;
    }
}

static void arrive(struct world *w, enum kind kind, uint64_t now_ns)
{
    struct wire_packet p = {.number = w->number++, .time_ns = now_ns, .l2_bytes = BYTES};
    CHECK(p.number < sizeof kinds);
    p.ect = kind != CLASSIC;
    p.ect1 = kind == L4S;
    came_ns[p.number] = now_ns;
    kinds[p.number] = (uint8_t)kind;
    serve(w, now_ns);
    w->offered[kind]++;
    w->full[kind] += bottleneck_offer(&w->bottleneck, &w->params, &w->models, &p) == FATE_QUEUE;
    serve(w, now_ns);
}

static uint64_t fact(const struct world *w, const char *name)
{
    struct queue_fact facts[QUEUE_FACTS_MAX];
    size_t n = w->bottleneck.queue.discipline->state(&w->bottleneck.queue, facts);
    for (size_t i = 0; i < n; i++)
        if (strcmp(facts[i].name, name) == 0)
            return facts[i].value;
    CHECK(!"no such fact");
    return 0;
}

static double share(uint64_t part, uint64_t of)
{
    return (double)part / (double)of;
}

/* Offers packets for `ns`: for each kind, one packet every `gap_ns` of that kind; 0: none. */
static void load(struct world *w, uint64_t *now_ns, uint64_t ns, const uint64_t gap_ns[KINDS])
{
    uint64_t next_ns[KINDS], until_ns = *now_ns + ns;
    for (int k = 0; k < KINDS; k++)
        next_ns[k] = gap_ns[k] ? *now_ns + (uint64_t)k * 7 + gap_ns[k] : UINT64_MAX;
    for (;;) {
        int first = 0;
        for (int k = 1; k < KINDS; k++)
            first = next_ns[k] < next_ns[first] ? k : first;
        if (next_ns[first] >= until_ns)
            break;
        arrive(w, (enum kind)first, next_ns[first]);
        next_ns[first] += gap_ns[first];
    }
    *now_ns = until_ns;
}

static void forget(struct world *w)
{
    for (int k = 0; k < KINDS; k++)
        w->offered[k] = w->sent[k] = w->marked[k] = w->dropped[k] = w->longest_ns[k] = w->wait_ns[k] = 0;
}

/* Section 2.1, equation 1, and the appendix: L4S packets are marked with p_CL = k p'. Classic packets are hit with p_C
 * = p'^2 = (p_CL / k)^2: ECT(0) packets are marked and the others dropped. The test drives the base probability up, and
 * then keeps it constant by gains of 0. */
static void the_probabilities_are_coupled(void)
{
    static const char *const factors[] = {"1", "2", "3.5"};
    for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++)
        for (uint64_t overloaded_ms = 40; overloaded_ms <= 200; overloaded_ms += 40) {
            char text[AQM_TEXT_MAX];
            uint64_t now_ns = NC_NS_PER_S;
            snprintf(text, sizeof text, "dualpi2:k=%s,step=1h", factors[f]);
            struct world *w = world_of(text);
            load(w, &now_ns, overloaded_ms * NC_NS_PER_MS, (const uint64_t[KINDS]){PACKET_NS * 3 / 4, 0, 0});
            snprintf(text, sizeof text, "dualpi2:alpha=0,beta=0,k=%s,step=1h", factors[f]);
            set(w, text);
            serve(w, now_ns += NC_NS_PER_S);
            forget(w);
            double base = (double)fact(w, "base_ppb") / 1e9, k = atof(factors[f]);
            CHECK(base > 0.01 && base < 1 / k);
            load(w, &now_ns, 12 * NC_NS_PER_S, (const uint64_t[KINDS]){4 * PACKET_NS, 4 * PACKET_NS, 4 * PACKET_NS});
            serve(w, UINT64_MAX);
            double all = (double)w->offered[CLASSIC];
            CHECK_EQ(w->marked[CLASSIC] + w->dropped[ECT0] + w->dropped[L4S], 0);
            CHECK(fabs((double)w->marked[L4S] - k * base * all) <= 1.5);
            CHECK(fabs((double)(w->dropped[CLASSIC] + w->marked[ECT0]) - 2 * base * base * all) <= 1.5);
            end(w);
        }
}

/* The update of p' follows the appendix, which the test calculates in floating point. One queue is filled at time 0 and
 * drained, and the base probability is compared after each update. */
static void the_base_probability_follows_its_law(void)
{
    struct world *w = world_of("dualpi2:limit=100000");
    const double alpha = 0.16, beta = 3.2, target = 0.015;
    double base = 0, before = 0;
    for (uint64_t i = 0; i < 1000; i++)
        arrive(w, L4S, 5); /* 100 ms */
    for (uint64_t update = 1; update <= 60; update++) {
        uint64_t at_ns = 5 + update * 16 * NC_NS_PER_MS;
        serve(w, at_ns - 1);
        double delay = w->bottleneck.queue.packets ? (double)(at_ns - 5) / 1e9 : 0;
        arrive(w, CLASSIC, at_ns);
        base += alpha * (delay - target) + beta * (delay - before);
        base = base < 0 ? 0 : base > 1 ? 1 : base;
        before = delay;
        CHECK(fabs((double)fact(w, "base_ppb") / 1e9 - base) < 1e-8 * (double)update);
        if (update == 3)
            CHECK(base > 0.1);
    }
    CHECK_EQ(fact(w, "base_ppb"), 0);
    end(w);
}

/* After an idle time all missed updates are made at once. Each lowers p' by alpha target. */
static void calm_lowers_the_probability(void)
{
    struct world *w = world_of("dualpi2"), *same = world_of("dualpi2");
    uint64_t now_ns = NC_NS_PER_S, then_ns = now_ns;
    const uint64_t gaps[KINDS] = {PACKET_NS * 3 / 4, 0, 0};
    load(w, &now_ns, 150 * NC_NS_PER_MS, gaps);
    load(same, &then_ns, 150 * NC_NS_PER_MS, gaps);
    serve(w, now_ns += 300 * NC_NS_PER_MS);
    for (; then_ns < now_ns + 2 * NC_NS_PER_S; then_ns += NC_NS_PER_MS)
        arrive(same, CLASSIC, then_ns); /* looked at every ms */
    arrive(w, CLASSIC, then_ns - NC_NS_PER_MS);
    CHECK_EQ(fact(w, "base_ppb"), fact(same, "base_ppb"));
    arrive(w, CLASSIC, then_ns + 10 * NC_NS_PER_S);
    CHECK_EQ(fact(w, "base_ppb"), 0);
    end(w);
    end(same);
}

/* Bursts of L4S packets: those that waited longer than the step are marked, a single packet never is. */
static void the_step_marks_what_waited_longer(void)
{
    struct world *w = world_of("dualpi2:step=1ms");
    for (uint64_t burst = 0; burst < 10; burst++)
        for (uint64_t i = 0; i < 30; i++)
            arrive(w, L4S, burst * 100 * NC_NS_PER_MS);
    serve(w, UINT64_MAX);
    CHECK_EQ(w->marked[L4S], 10 * 18); /* they wait 1.1 ms to 2.8 ms; the last packet is alone */
    CHECK_EQ(fact(w, "step_marks"), 180);
    w->models.rate.rate_bps = 1000000; /* 10 ms a packet: two at a time, and the second waits alone */
    for (uint64_t i = 0; i < 20; i++)
        arrive(w, L4S, 2 * NC_NS_PER_S + i / 2 * 100 * NC_NS_PER_MS);
    serve(w, UINT64_MAX - 1);
    CHECK_EQ(w->marked[L4S], 180);
    end(w);
}

/* A classic flow that overloads the line delays an L4S packet by at most the packet that is on the line. */
static void l4s_packets_go_first(void)
{
    struct world *w = world_of("dualpi2");
    uint64_t now_ns = NC_NS_PER_S;
    load(w, &now_ns, 10 * NC_NS_PER_S, (const uint64_t[KINDS]){PACKET_NS * 9 / 10, 0, 50 * PACKET_NS + 13});
    CHECK(w->longest_ns[L4S] <= PACKET_NS);
    CHECK(w->longest_ns[CLASSIC] > 10 * NC_NS_PER_MS);
    end(w);
}

/* Classic packets at 150 % of the line, which do not respond. A third must be dropped, ECN-capable or not (p_C > 25 %),
 * and the queue must stay near its target. */
static void classic_overload_is_dropped(void)
{
    for (enum kind kind = CLASSIC; kind <= ECT0; kind++) {
        struct world *w = world_of("dualpi2");
        uint64_t now_ns = NC_NS_PER_S, gaps[KINDS] = {0};
        gaps[kind] = PACKET_NS * 2 / 3;
        load(w, &now_ns, 5 * NC_NS_PER_S, gaps);
        forget(w);
        load(w, &now_ns, 30 * NC_NS_PER_S, gaps);
        CHECK(fabs(share(w->dropped[kind], w->offered[kind]) - 1.0 / 3) < 0.005);
        CHECK_EQ(w->marked[kind] + w->full[kind], 0);
        CHECK(fabs(share(w->wait_ns[kind], w->sent[kind]) / 1e6 - 15) < 2);
        end(w);
    }
}

/* L4S packets at 150 % of the line, which do not respond. With marks only, the queue would grow without bound. A third
 * must be dropped and all others marked. */
static void l4s_overload_is_dropped(void)
{
    struct world *w = world_of("dualpi2");
    uint64_t now_ns = NC_NS_PER_S;
    const uint64_t gaps[KINDS] = {0, 0, PACKET_NS * 2 / 3};
    load(w, &now_ns, 5 * NC_NS_PER_S, gaps);
    forget(w);
    load(w, &now_ns, 30 * NC_NS_PER_S, gaps);
    CHECK(fabs(share(w->dropped[L4S], w->offered[L4S]) - 1.0 / 3) < 0.005);
    CHECK_EQ(w->marked[L4S], w->sent[L4S]);
    CHECK(fabs(share(w->wait_ns[L4S], w->sent[L4S]) / 1e6 - 15) < 2);
    CHECK_EQ(w->full[L4S], 0);
    end(w);
}

/* L4S packets alone would fill the line while classic packets wait, too. The classic packets must get their share, 10 %
 * by default. */
static void classic_packets_keep_their_share(void)
{
    static const struct {
        const char *text;
        double share;
    } cases[] = {{"dualpi2:alpha=0,beta=0,limit=100000", 0.1},
                 {"dualpi2:alpha=0,beta=0,classic=25%,limit=100000", 0.25}};
    for (size_t c = 0; c < 2; c++) {
        struct world *w = world_of(cases[c].text);
        uint64_t now_ns = NC_NS_PER_S;
        load(w, &now_ns, 3 * NC_NS_PER_S, (const uint64_t[KINDS]){PACKET_NS, 0, PACKET_NS});
        CHECK(fabs(share(w->sent[CLASSIC], w->sent[CLASSIC] + w->sent[L4S]) - cases[c].share) < 0.002);
        end(w);
    }
}

/* At most `limit` packets wait, and the box's own bounds apply, too. */
static void a_full_queue_drops_the_newest(void)
{
    struct world *w = world_of("dualpi2:limit=50");
    for (uint64_t i = 0; i < 100; i++)
        arrive(w, (enum kind)(i % KINDS), 0);
    CHECK_EQ(w->bottleneck.queue.packets, 50);
    w->params.queue_packets = 20;
    serve(w, 50 * PACKET_NS);
    for (uint64_t i = 0; i < 100; i++)
        arrive(w, L4S, 50 * PACKET_NS + 1);
    CHECK_EQ(w->bottleneck.queue.packets + w->bottleneck.queue.line_packets, 20);
    end(w);
}

/* DCTCP on Linux sends ECT(0): with ect0=on it uses the L4S queue. */
static void ect0_may_be_l4s(void)
{
    for (int on = 0; on < 2; on++) {
        struct world *w = world_of(on ? "dualpi2:ect0=on" : "dualpi2:ect0=off");
        for (int i = 0; i < 10; i++)
            arrive(w, CLASSIC, 0);
        arrive(w, ECT0, 0);
        CHECK_EQ(fact(w, "l4s_packets"), on);
        serve(w, UINT64_MAX);
        CHECK_EQ(w->longest_ns[ECT0], on ? PACKET_NS : 10 * PACKET_NS);
        end(w);
    }
}

static void a_change_of_discipline_keeps_what_waits(void)
{
    struct world *w = world_of("dualpi2:alpha=0,beta=0,step=1h");
    const char *const texts[] = {"none", "dualpi2:alpha=0,beta=0,step=1h", "none"};
    for (uint64_t i = 0; i < 100; i++)
        arrive(w, i % 2 ? L4S : CLASSIC, 0);
    for (uint64_t i = 0; i < 3; i++) {
        set(w, texts[i]);
        serve(w, 10 * (i + 1) * PACKET_NS);
        arrive(w, CLASSIC, 10 * (i + 1) * PACKET_NS);
    }
    serve(w, UINT64_MAX);
    CHECK_EQ(w->sent[CLASSIC] + w->sent[L4S], 103);
    CHECK_EQ(bottleneck_occupancy(&w->bottleneck, UINT64_MAX), 0);
    end(w);
}

int main(void)
{
    RUN(the_probabilities_are_coupled);
    RUN(the_base_probability_follows_its_law);
    RUN(calm_lowers_the_probability);
    RUN(the_step_marks_what_waited_longer);
    RUN(l4s_packets_go_first);
    RUN(classic_overload_is_dropped);
    RUN(l4s_overload_is_dropped);
    RUN(classic_packets_keep_their_share);
    RUN(a_full_queue_drops_the_newest);
    RUN(ect0_may_be_l4s);
    RUN(a_change_of_discipline_keeps_what_waits);
    return 0;
}
