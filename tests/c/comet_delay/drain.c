/* The drain: its rate is exact. Its buffer has the configured size, which includes the packet on the bus. */
#include "drain.h"

#include "check.h"
#include "nc_clock.h"
#include "random.h"

static uint64_t crossed(struct drain *drain, const struct drain_params *params, uint64_t arrival_ns, uint32_t bytes)
{
    uint64_t departure_ns = 0;
    CHECK(drain_send(drain, params, arrival_ns, bytes, &departure_ns));
    return departure_ns;
}

static void the_bus_takes_one_packet_after_the_other(void)
{
    const struct drain_params params = {.rate_bps = 8000000};
    struct drain d = {0};
    CHECK_EQ(crossed(&d, &params, 0, 1000), NC_NS_PER_MS); /* even the first packet takes its time */
    CHECK_EQ(crossed(&d, &params, 0, 500), 1500000);
    CHECK_EQ(crossed(&d, &params, 1500000, 1000), 2500000);
    CHECK_EQ(crossed(&d, &params, 9000000, 1000), 10000000);
    drain_free(&d);
}

static void the_buffer_counts_the_packet_on_the_bus(void)
{
    const struct drain_params params = {.rate_bps = 8000000, .buffer_bytes = 3000};
    struct drain d = {0};
    uint64_t departure_ns;
    for (uint64_t i = 1; i <= 3; i++)
        CHECK_EQ(crossed(&d, &params, 0, 1000), i * NC_NS_PER_MS);
    CHECK(!drain_send(&d, &params, 0, 1, &departure_ns));
    CHECK(!drain_send(&d, &params, 999999, 1000, &departure_ns));
    CHECK_EQ(crossed(&d, &params, NC_NS_PER_MS, 1000), 4 * NC_NS_PER_MS); /* the dropped packet took no time */
    CHECK_EQ(d.buffer.peak_bytes, 3000);
    drain_free(&d);
}

/* A line delivers packets k/100 times as fast as the bus takes them. In time t the bus takes rate × t, and at the end
 * the buffer is full. The number of packets that pass must be the sum of both, to within one packet. */
static void what_passes_is_what_the_bus_takes_and_the_buffer_holds(void)
{
    enum { N = 100000, BYTES = 1500, HELD = 40 };
    const struct drain_params params = {.rate_bps = UINT64_C(999999937), .buffer_bytes = HELD * BYTES};
    uint64_t bus_ns = UINT64_C(8) * BYTES * NC_NS_PER_S / params.rate_bps;
    for (uint64_t k = 101; k < 400; k += 31) {
        struct drain d = {0};
        uint64_t passed = 0, departure_ns = 0, apart_ns = bus_ns * 100 / k;
        for (uint64_t i = 0; i < N; i++)
            passed += drain_send(&d, &params, i * apart_ns, BYTES, &departure_ns);
        uint64_t expected = (N - 1) * apart_ns * params.rate_bps / (UINT64_C(8) * BYTES * NC_NS_PER_S) + HELD;
        CHECK(passed + 1 >= expected && passed <= expected + 1);
        uint64_t busy_ns = (uint64_t)((__int128)passed * BYTES * 8 * NC_NS_PER_S / params.rate_bps);
        CHECK_EQ(departure_ns, busy_ns); /* the bus was never idle */
        drain_free(&d);
    }
}

static void departures_never_fall_whatever_changes(void)
{
    struct drain d = {0};
    struct drain_params params = {0};
    uint64_t now = 0, last = 0, departure_ns;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t draw = random_u64(1, i);
        if (draw % 16 == 0)
            params = (struct drain_params){.rate_bps = draw % 5 ? (draw >> 8) % 100000000 + 1000 : 0,
                                           .buffer_bytes = (draw >> 41) % 3 * 20000};
        now += (draw >> 20) % 200000;
        if (!drain_send(&d, &params, now, (uint32_t)(draw >> 50) % 1500 + 1, &departure_ns))
            continue;
        CHECK(departure_ns >= now && departure_ns >= last);
        last = departure_ns;
    }
    drain_free(&d);
}

int main(void)
{
    RUN(the_bus_takes_one_packet_after_the_other);
    RUN(the_buffer_counts_the_packet_on_the_bus);
    RUN(what_passes_is_what_the_bus_takes_and_the_buffer_holds);
    RUN(departures_never_fall_whatever_changes);
    return 0;
}
