/* The stream harmonizer: parallel streams leave evenly spaced, and the order within each is kept. */
#include "harmonizer.h"

#include "check.h"
#include "nc_clock.h"
#include "random.h"

enum { BYTES = 1500 };
#define MS NC_NS_PER_MS

static const struct harmonizer_params gigabit = {.rate_bps = 1000000000, .active_ns = 100 * MS};

static struct harmonizer *fresh(void)
{
    struct harmonizer *h = calloc(1, sizeof *h);
    CHECK(h);
    return h;
}

static uint64_t sent(struct harmonizer *h, const struct harmonizer_params *params, uint64_t arrival_ns, uint64_t hash)
{
    return harmonizer_send(h, params, arrival_ns, hash, BYTES);
}

/* 1,500 bytes at 1 Gbit/s take 12 us; if two streams share the rate, 24 us. */
static void share_follows_the_active_flows(void)
{
    struct harmonizer *h = fresh();
    CHECK_EQ(sent(h, &gigabit, 0, 1), 0);
    CHECK_EQ(sent(h, &gigabit, 0, 1), 12000);
    CHECK_EQ(sent(h, &gigabit, 0, 2), 0); /* another stream does not wait for this one */
    CHECK_EQ(sent(h, &gigabit, 0, 2), 24000);
    CHECK_EQ(sent(h, &gigabit, 0, 1), 24000); /* spaced while it was alone */
    CHECK_EQ(sent(h, &gigabit, 0, 1), 48000);
    CHECK_EQ(h->active, 2);
    CHECK_EQ(sent(h, &gigabit, 100 * MS - 1, 1), 100 * MS - 1); /* 2 is still active */
    CHECK_EQ(h->active, 2);
    CHECK_EQ(sent(h, &gigabit, 100 * MS, 1), 100 * MS - 1 + 24000); /* spaced while 2 was */
    CHECK_EQ(h->active, 1);
    CHECK_EQ(sent(h, &gigabit, 100 * MS, 1), 100 * MS - 1 + 24000 + 12000);
    free(h);
}

/* Bytes of two flows that leave in windows of `window_ns`. jain() is the mean of Jain's index, (a + b)² / 2 (a² + b²),
 * over the windows in which both flows had data. */
struct windows {
    uint64_t window_ns, bytes[2][4096];
};

static double jain(const struct windows *w, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (uint64_t i = from; i < to; i++) {
        double a = (double)w->bytes[0][i], b = (double)w->bytes[1][i];
        CHECK(a + b > 0);
        sum += (a + b) * (a + b) / (2 * (a * a + b * b));
    }
    return sum / (double)(to - from);
}

/* Two streams of 490 Mbit/s each: one is steady, the other comes in bursts of 256 packets. In windows a quarter as long
 * as the bursts' period, arrivals are as uneven as possible (three of four windows have one stream alone, index 1/2),
 * but departures must be even. */
static void bursts_are_evened_out(void)
{
    static struct windows in, out;
    struct harmonizer *h = fresh();
    const uint64_t gap_ns = 24490, burst = 256, n = 200 * burst;
    in.window_ns = out.window_ns = burst * gap_ns / 4;
    uint64_t last[2] = {0};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t steady_ns = i * gap_ns, departure;
        if (i % burst == 0)
            for (uint64_t k = 0; k < burst; k++) {
                departure = sent(h, &gigabit, steady_ns, 7);
                CHECK(departure >= last[0]);
                last[0] = departure;
                in.bytes[0][steady_ns / in.window_ns] += BYTES;
                out.bytes[0][departure / out.window_ns] += BYTES;
            }
        departure = sent(h, &gigabit, steady_ns, 8);
        CHECK(departure >= last[1] && departure - steady_ns < 13000); /* a flow without bursts is not delayed */
        last[1] = departure;
        in.bytes[1][steady_ns / in.window_ns] += BYTES;
        out.bytes[1][departure / out.window_ns] += BYTES;
    }
    uint64_t windows = n * gap_ns / in.window_ns;
    double before = jain(&in, 4, windows - 4), after = jain(&out, 4, windows - 4);
    if (before > 0.57 || after < 0.995) {
        fprintf(stderr, "Jain's index %g before, %g after\n", before, after);
        exit(1);
    }
    free(h);
}

/* Whatever the arrivals and changes of parameters, and with more flows than the table holds, the order within a flow
 * must stay. */
static void order_within_a_flow_is_kept(void)
{
    enum { FLOWS = 3 * HARMONIZER_FLOWS };
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct harmonizer *h = fresh();
        struct harmonizer_params params = gigabit;
        uint64_t last[FLOWS] = {0}, now = 0;
        for (uint64_t i = 0; i < 300000; i++) {
            uint64_t draw = random_u64(seed, i), flow = (draw >> 8) % (draw % 3 ? 8 : FLOWS);
            if (draw % 1024 == 0)
                params = (struct harmonizer_params){.rate_bps = (draw >> 20) % 4 ? (draw >> 22) % 1000000000 + 1 : 0,
                                                    .active_ns = (draw >> 52) * 10000};
            now += (draw >> 30) % 24000;
            uint64_t departure = harmonizer_send(h, &params, now, flow, (uint32_t)(draw >> 54) + 1);
            CHECK(departure >= now && departure >= last[flow]);
            last[flow] = departure;
        }
        CHECK_EQ(h->used, HARMONIZER_FLOWS);
        uint64_t active = 0;
        for (uint16_t at = h->oldest_active; at; at = h->flows[at].newer)
            active += h->flows[at].active;
        CHECK_EQ(active, h->active);
        free(h);
    }
}

static void a_flow_spaced_exactly(void)
{
    struct harmonizer *h = fresh();
    struct harmonizer_params params = {.rate_bps = 7000000, .active_ns = NC_NS_PER_S};
    uint64_t last = 0;
    for (int i = 0; i <= 1000000; i++)
        last = sent(h, &params, 0, 1);
    CHECK_EQ(last, UINT64_C(1500) * 8 * 1000000 * NC_NS_PER_S / 7000000 + 1);
    free(h);
}

static void no_rate_is_no_harmonizing(void)
{
    struct harmonizer *h = fresh();
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_EQ(sent(h, &(struct harmonizer_params){0}, i / 10, i % 3), i / 10);
    free(h);
}

int main(void)
{
    RUN(share_follows_the_active_flows);
    RUN(bursts_are_evened_out);
    RUN(order_within_a_flow_is_kept);
    RUN(a_flow_spaced_exactly);
    RUN(no_rate_is_no_harmonizing);
    return 0;
}
