/* Lines, framing and random losses, each by itself. */
#include "lines.h"

#include "check.h"
#include "nc_clock.h"
#include "random.h"
#include "wire_packet.h"

static void line_loses_no_fraction_of_a_nanosecond(void)
{
    struct serial_line line = {0};
    /* 1500 bytes at 7 Mbit/s take 1714285.714… ns; a million of them exactly 1714285714285.7 ns */
    for (int i = 0; i < 1000000; i++)
        serial_line_send(&line, 7000000, 0, 1500);
    CHECK_EQ(line.exit_ns, UINT64_C(1500) * 8 * 1000000 * NC_NS_PER_S / 7000000);
}

static void line_is_idle_between_late_arrivals(void)
{
    struct serial_line line = {0};
    CHECK_EQ(serial_line_send(&line, 1000000000, 1000, 125), 2000);
    CHECK_EQ(serial_line_send(&line, 1000000000, 1500, 125), 3000);
    CHECK_EQ(serial_line_send(&line, 1000000000, 10000, 125), 11000);
}

static void framing_decides_what_a_packet_takes(void)
{
    const struct wire_packet p = {.l2_bytes = 1514, .ip_bytes = 1500};
    CHECK_EQ(wire_packet_line_bytes(&p, &(struct params){.framing = FRAMING_L2}), 1514);
    CHECK_EQ(wire_packet_line_bytes(&p, &(struct params){.framing = FRAMING_ETHERNET}), 1538);
    CHECK_EQ(wire_packet_line_bytes(&p, &(struct params){.framing = FRAMING_IP}), 1500);
    static const uint32_t frames[][2] = {{42, 84}, {54, 84}, {60, 84}, {61, 85}, {66, 90}};
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        const struct wire_packet small = {.l2_bytes = frames[i][0], .ip_bytes = frames[i][0] - 14};
        CHECK_EQ(wire_packet_line_bytes(&small, &(struct params){.framing = FRAMING_ETHERNET}), frames[i][1]);
        CHECK_EQ(wire_packet_line_bytes(&small, &(struct params){.framing = FRAMING_L2}), frames[i][0]);
    }
}

static void a_shorter_delay_does_not_reorder(void)
{
    struct delay_line line = {0};
    CHECK_EQ(delay_line_send(&line, 1000, 5000), 6000);
    CHECK_EQ(delay_line_send(&line, 10, 5100), 6000);
}

/* z for a two-sided interval of 99.99 %: a fixed set of seeds either always passes or never does. */
static void loss_share_is_binomial(void)
{
    const uint64_t n = 10000000;
    const struct {
        uint64_t ppb;
    } cases[] = {{1000}, {100000}, {10000000}, {500000000}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            uint64_t key = random_key(seed, 0, 0), lost = 0;
            for (uint64_t i = 0; i < n; i++) {
                lost += (uint64_t)random_hit(key, i, cases[c].ppb);
            }
            double share = (double)cases[c].ppb / 1e9, mean = (double)n * share, variance = mean * (1 - share);
            double off = (double)lost - mean;
            if (off * off > 3.89 * 3.89 * variance) {
                fprintf(stderr, "seed %llu, loss %g: %llu of %llu\n", (unsigned long long)seed, share,
                        (unsigned long long)lost, (unsigned long long)n);
                exit(1);
            }
        }
}

static void loss_of_neighbours_is_independent(void)
{
    const uint64_t n = 10000000;
    uint64_t key = random_key(7, 1, 0), pairs = 0;
    int before = 0;
    for (uint64_t i = 0; i < n; i++) {
        int lost = random_hit(key, i, NC_RATIO_ONE / 10);
        pairs += (uint64_t)(lost && before);
        before = lost;
    }
    double mean = (double)n * 0.01, off = (double)pairs - mean;
    CHECK(off * off < 3.89 * 3.89 * mean * 1.2); /* neighbouring pairs overlap: variance np²(1+2p) and less */
}

static void loss_edges(void)
{
    for (uint64_t i = 0; i < 10000; i++) {
        CHECK(!random_hit(5, i, 0));
        CHECK(random_hit(5, i, NC_RATIO_ONE));
    }
    CHECK(random_key(1, 0, 0) != random_key(1, 1, 0));
    CHECK(random_key(1, 0, 0) != random_key(2, 0, 0));
    CHECK(random_key(1, 0, 0) != random_key(1, 0, 1));
}

int main(void)
{
    RUN(line_loses_no_fraction_of_a_nanosecond);
    RUN(line_is_idle_between_late_arrivals);
    RUN(framing_decides_what_a_packet_takes);
    RUN(a_shorter_delay_does_not_reorder);
    RUN(loss_share_is_binomial);
    RUN(loss_of_neighbours_is_independent);
    RUN(loss_edges);
    return 0;
}
