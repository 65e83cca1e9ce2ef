/* The pacer: its rate is exact on average, and no window exceeds it. */
#include "pacer.h"

#include "check.h"
#include "nc_clock.h"
#include "random.h"

static uint64_t sent(struct pacer *pacer, const struct pacer_params *params, uint64_t arrival_ns, uint32_t bytes)
{
    uint64_t departure_ns = 0;
    CHECK(pacer_send(pacer, params, arrival_ns, bytes, &departure_ns));
    return departure_ns;
}

static void rate_is_exact_over_a_million(void)
{
    struct pacer p = {0};
    uint64_t last = 0;
    /* 1500 bytes at 7 Mbit/s take 1714285.714… ns */
    for (int i = 0; i <= 1000000; i++)
        last = sent(&p, &(struct pacer_params){.rate = 7000000}, 0, 1500);
    CHECK_EQ(last, UINT64_C(1500) * 8 * 1000000 * NC_NS_PER_S / 7000000 + 1);
    pacer_free(&p);
    /* fig4's best rate: 69,500 packets a second, whatever their size */
    for (uint64_t i = 0; i <= 1000000; i++)
        last = sent(&p, &(struct pacer_params){.rate = 69500, .unit = PACER_PACKETS}, 0,
                    (uint32_t)(64 + random_u64(1, i) % 9000));
    CHECK_EQ(last, 1000000 * NC_NS_PER_S / 69500 + 1);
    pacer_free(&p);
}

/* For packets i < j, the cost of i … j-1 must be at most rate × (departure j - departure i), to within one nanosecond.
 * Let c be the sum of the costs before a packet and d its departure. Then this means c_j - rate d_j <= min over i of
 * (c_i - rate d_i) + rate. */
static void never_above_the_rate_in_any_window(void)
{
    const struct pacer_params cases[] = {{.rate = 7000000},
                                         {.rate = 999999937},
                                         {.rate = UINT64_C(100000000000)},
                                         {.rate = 69500, .unit = PACER_PACKETS},
                                         {.rate = 83331, .unit = PACER_PACKETS}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (uint64_t seed = 1; seed <= 2; seed++) {
            struct pacer p = {0};
            uint64_t now = 0, before = 0, waited = 0, packets = cases[c].unit == PACER_PACKETS;
            uint64_t usual_ns = (packets ? NC_NS_PER_S : 780 * 8 * NC_NS_PER_S) / cases[c].rate;
            __int128 cost = 0, least = 0;
            for (uint64_t i = 0; i < 1000000; i++) {
                uint64_t draw = random_u64(seed, i);
                uint32_t bytes = 60 + (uint32_t)(draw % 1441);
                now += draw >> 60 ? 0 : (draw >> 20) % (32 * usual_ns + 1); /* bursts and pauses, load about 1 */
                uint64_t departure = sent(&p, &cases[c], now, bytes);
                __int128 over = cost - (__int128)departure * cases[c].rate;
                if (i && over > least + cases[c].rate) {
                    fprintf(stderr, "rate %llu, seed %llu, packet %llu: early\n", (unsigned long long)cases[c].rate,
                            (unsigned long long)seed, (unsigned long long)i);
                    exit(1);
                }
                if (i == 0 || over < least)
                    least = over;
                cost += (__int128)(packets ? 1 : bytes * 8) * NC_NS_PER_S;
                CHECK(departure >= now && departure >= before);
                before = departure;
                waited += departure > now;
            }
            CHECK(waited > 100000 && waited < 1000000);
            pacer_free(&p);
        }
}

static void a_late_packet_is_not_delayed(void)
{
    struct pacer p = {0};
    struct pacer_params params = {.rate = 8000000, .buffer_bytes = 1}; /* 1 us a byte */
    CHECK_EQ(sent(&p, &params, 5000, 1000), 5000);
    CHECK_EQ(sent(&p, &params, 1005000, 1000), 1005000);
    CHECK_EQ(sent(&p, &params, 9005001, 1000), 9005001);
    pacer_free(&p);
}

static void buffer_is_bounded(void)
{
    struct pacer p = {0};
    struct pacer_params params = {.rate = 8000000, .buffer_bytes = 2500};
    uint64_t departure;
    CHECK_EQ(sent(&p, &params, 0, 1000), 0); /* leaves at once */
    CHECK_EQ(sent(&p, &params, 0, 1000), 1000000);
    CHECK_EQ(sent(&p, &params, 0, 1000), 2000000);
    CHECK(!pacer_send(&p, &params, 0, 1000, &departure));
    CHECK_EQ(sent(&p, &params, 0, 500), 3000000); /* a small one fits */
    CHECK_EQ(pacer_waiting(&p, 999999), 2500);
    CHECK_EQ(pacer_waiting(&p, 1000000), 1500);
    CHECK_EQ(sent(&p, &params, 1000000, 1000), 3500000);
    CHECK_EQ(p.buffer.peak_bytes, 2500);
    CHECK_EQ(pacer_waiting(&p, 3500000), 0);
    pacer_free(&p);
}

static void changes_never_reorder(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct pacer p = {0};
        struct pacer_params params = {0};
        uint64_t before = 0, now = 0;
        for (uint64_t i = 0; i < 20000; i++) {
            uint64_t draw = random_u64(seed, i), departure;
            if (draw % 16 == 0)
                params = (struct pacer_params){.rate = draw % 5 ? (draw >> 8) % 1000000 + 1 : 0,
                                               .unit = (int)(draw >> 40) & 1,
                                               .buffer_bytes = (draw >> 41) % 3 * 20000};
            now += (draw >> 20) % 2000000;
            if (!pacer_send(&p, &params, now, (uint32_t)(draw >> 50) % 1500 + 1, &departure))
                continue;
            CHECK(departure >= now && departure >= before);
            before = departure;
        }
        pacer_free(&p);
    }
}

static void no_rate_is_no_pace(void)
{
    struct pacer p = {0};
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_EQ(sent(&p, &(struct pacer_params){0}, i / 10, 1500), i / 10);
    CHECK_EQ(p.buffer.peak_bytes, 0);
    pacer_free(&p);
}

int main(void)
{
    RUN(rate_is_exact_over_a_million);
    RUN(never_above_the_rate_in_any_window);
    RUN(a_late_packet_is_not_delayed);
    RUN(buffer_is_bounded);
    RUN(changes_never_reorder);
    RUN(no_rate_is_no_pace);
    return 0;
}
