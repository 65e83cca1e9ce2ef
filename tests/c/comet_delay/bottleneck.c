/* The bottleneck by itself, in virtual time. */
#include "bottleneck.h"

#include "check.h"
#include "nc_clock.h"

/* No active queue management; the rate is the parameters'. */
static struct models models_of(const struct params *params)
{
    return (struct models){.rate = {.kind = RATE_CONSTANT, .rate_bps = params->rate_bps}};
}

static struct wire_packet packet(uint64_t number, uint64_t time_ns, uint32_t bytes)
{
    return (struct wire_packet){.number = number, .time_ns = time_ns, .l2_bytes = bytes, .ip_bytes = bytes - 14};
}

static enum fate offer(struct bottleneck *b, const struct params *params, uint64_t number, uint64_t time_ns,
                       uint32_t bytes)
{
    struct wire_packet p = packet(number, time_ns, bytes);
    struct models models = models_of(params);
    return bottleneck_offer(b, params, &models, &p);
}

/* Checks that the next decision is this one. */
static void expect(struct bottleneck *b, const struct params *params, uint64_t until_ns, uint64_t number,
                   enum fate fate, uint64_t time_ns)
{
    struct wire_packet p;
    enum fate got;
    struct models models = models_of(params);
    CHECK(bottleneck_next(b, params, &models, until_ns, &p, &got));
    CHECK_EQ(p.number, number);
    CHECK_EQ(got, fate);
    if (fate == FATE_PASS)
        CHECK_EQ(p.time_ns, time_ns);
}

static void nothing(struct bottleneck *b, const struct params *params, uint64_t until_ns)
{
    struct wire_packet p;
    enum fate fate;
    struct models models = models_of(params);
    CHECK(!bottleneck_next(b, params, &models, until_ns, &p, &fate));
}

static void tail_drop_takes_the_newest(void)
{
    struct params params = {.rate_bps = 8000000, .queue_bytes = 3000}; /* 1 µs a byte */
    struct bottleneck b;
    bottleneck_init(&b, 1);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_EQ(offer(&b, &params, i, 0, 1000), FATE_PASS);
    expect(&b, &params, 0, 0, FATE_PASS, 1000000);
    nothing(&b, &params, 999999); /* the second waits until its turn */
    CHECK_EQ(offer(&b, &params, 3, 0, 1000), FATE_QUEUE);
    expect(&b, &params, 1000000, 1, FATE_PASS, 2000000);
    CHECK_EQ(offer(&b, &params, 4, 1000000, 1000), FATE_PASS); /* the first is out now */
    expect(&b, &params, 2000000, 2, FATE_PASS, 3000000);
    expect(&b, &params, 3000000, 4, FATE_PASS, 4000000);
    CHECK_EQ(bottleneck_occupancy(&b, 3999999), 1000);
    CHECK_EQ(bottleneck_occupancy(&b, 4000000), 0);
    bottleneck_free(&b);
}

/* The queue counts octets as mm-link does, whatever the framing. The rest of an opportunity goes to packets that came
 * before the opportunity. */
static void mm_links_opportunities_serve_the_queue(void)
{
    struct table *table = NULL;
    for (uint64_t ms = 1; ms <= 4; ms++)
        CHECK(table_add(&table, ms * NC_NS_PER_MS));
    struct params params = {.queue_bytes = 3 * 752, .framing = FRAMING_ETHERNET};
    struct models models = {.rate = {.kind = RATE_MM_LINK, .table = table}};
    static const uint64_t came_ns[] = {0, 0, 0, 1000000, 1000001},
                          left_ns[] = {1000000, 1000000, 2000000, 2000000, 3000000};
    struct bottleneck b;
    struct wire_packet p = packet(9, 0, 762);
    enum fate fate;
    bottleneck_init(&b, 1);
    for (uint64_t i = 0; i < 5; i++) {
        struct wire_packet next = packet(i, came_ns[i], 762); /* two packets with their TUN headers are 1,504 bytes */
        for (; came_ns[i] && bottleneck_next(&b, &params, &models, came_ns[i], &p, &fate);)
            CHECK_EQ(p.time_ns, left_ns[p.number]);
        CHECK_EQ(bottleneck_offer(&b, &params, &models, &next), FATE_PASS);
        if (i == 2)
            CHECK_EQ(bottleneck_offer(&b, &params, &models, &p), FATE_QUEUE);
    }
    while (bottleneck_next(&b, &params, &models, UINT64_MAX, &p, &fate))
        CHECK_EQ(p.time_ns, left_ns[p.number]);
    CHECK_EQ(p.number, 4);
    bottleneck_free(&b);
    table_release(table);
}

static void head_drop_takes_the_oldest_that_waits(void)
{
    struct params params = {.rate_bps = 8000000, .queue_bytes = 3000, .queue_drop = QUEUE_DROP_HEAD};
    struct bottleneck b;
    bottleneck_init(&b, 1);
    CHECK_EQ(offer(&b, &params, 0, 0, 1000), FATE_PASS);
    expect(&b, &params, 0, 0, FATE_PASS, 1000000); /* this packet is on the line, so it can no longer be dropped */
    CHECK_EQ(offer(&b, &params, 1, 100, 1000), FATE_PASS);
    CHECK_EQ(offer(&b, &params, 2, 200, 1000), FATE_PASS);
    nothing(&b, &params, 999999);
    CHECK_EQ(bottleneck_turn_ns(&b), 1000000);
    CHECK_EQ(offer(&b, &params, 3, 300, 1000), FATE_PASS);
    expect(&b, &params, 300, 1, FATE_QUEUE, 0);
    nothing(&b, &params, 300);
    expect(&b, &params, 1000000, 2, FATE_PASS, 2000000);
    expect(&b, &params, 2000000, 3, FATE_PASS, 3000000);
    CHECK_EQ(bottleneck_occupancy(&b, 3000000), 0);
    CHECK_EQ(bottleneck_turn_ns(&b) == UINT64_MAX, 1);
    bottleneck_free(&b);
}

static void packets_can_be_the_bound(void)
{
    struct params params = {.rate_bps = 8000000, .queue_packets = 2};
    struct bottleneck b;
    bottleneck_init(&b, 1);
    CHECK_EQ(offer(&b, &params, 0, 0, 60), FATE_PASS);
    CHECK_EQ(offer(&b, &params, 1, 0, 9000), FATE_PASS);
    CHECK_EQ(offer(&b, &params, 2, 0, 60), FATE_QUEUE);
    bottleneck_free(&b);
}

static void a_queue_smaller_than_a_packet_still_serves(void)
{
    struct params params = {.rate_bps = 8000000, .queue_bytes = 100};
    struct bottleneck b;
    bottleneck_init(&b, 1);
    CHECK_EQ(offer(&b, &params, 0, 0, 1000), FATE_PASS);
    expect(&b, &params, 0, 0, FATE_PASS, 1000000);
    CHECK_EQ(offer(&b, &params, 1, 999999, 1000), FATE_QUEUE);
    CHECK_EQ(offer(&b, &params, 2, 1000000, 1000), FATE_PASS);
    bottleneck_free(&b);
}

static void an_unbounded_queue_grows(void)
{
    for (int drop = QUEUE_DROP_TAIL; drop <= QUEUE_DROP_HEAD; drop++) {
        struct params params = {.rate_bps = 1000, .queue_drop = drop};
        struct bottleneck b;
        bottleneck_init(&b, 1);
        for (uint64_t i = 0; i < 100000; i++)
            CHECK_EQ(offer(&b, &params, i, 0, 125), FATE_PASS);
        for (uint64_t i = 0; i < 100000; i++)
            expect(&b, &params, UINT64_MAX, i, FATE_PASS, (i + 1) * NC_NS_PER_S);
        CHECK_EQ(bottleneck_occupancy(&b, 50000 * NC_NS_PER_S), 50000 * 125);
        bottleneck_free(&b);
    }
}

/* 10 packets of 1,000 bytes at 8 kbit/s take 1 s each. After 1.5 s the second packet is on the line and the others
 * wait. */
static void packets_that_wait_are_timed_by_a_new_rate(void)
{
    struct params params = {.rate_bps = 8000};
    struct bottleneck b;
    bottleneck_init(&b, 1);
    for (uint64_t i = 0; i < 10; i++)
        CHECK_EQ(offer(&b, &params, i, 0, 1000), FATE_PASS);
    expect(&b, &params, 0, 0, FATE_PASS, NC_NS_PER_S);
    expect(&b, &params, 3 * NC_NS_PER_S / 2, 1, FATE_PASS, 2 * NC_NS_PER_S);
    nothing(&b, &params, 3 * NC_NS_PER_S / 2);
    params.rate_bps = 8000000; /* 1 ms each, after the packet that is on the line */
    nothing(&b, &params, 3 * NC_NS_PER_S / 2);
    for (uint64_t i = 2; i < 9; i++)
        expect(&b, &params, 2 * NC_NS_PER_S + 6 * NC_NS_PER_MS, i, FATE_PASS, 2 * NC_NS_PER_S + (i - 1) * NC_NS_PER_MS);
    params.rate_bps = 0; /* the last packet must not overtake the others */
    expect(&b, &params, 2 * NC_NS_PER_S + 7 * NC_NS_PER_MS, 9, FATE_PASS, 2 * NC_NS_PER_S + 7 * NC_NS_PER_MS);
    CHECK_EQ(bottleneck_occupancy(&b, 3 * NC_NS_PER_S), 0);
    bottleneck_free(&b);
}

/* At 8 Gbit/s a packet takes 1 µs, so 1,000 leave within the millisecond. */
static void what_leaves_within_a_millisecond_is_decided_ahead(void)
{
    struct params params = {.rate_bps = UINT64_C(8000000000)};
    struct bottleneck b;
    bottleneck_init(&b, 1);
    for (uint64_t i = 0; i < 1500; i++)
        CHECK_EQ(offer(&b, &params, i, 0, 1000), FATE_PASS);
    for (uint64_t i = 0; i < 1000; i++)
        expect(&b, &params, 0, i, FATE_PASS, (i + 1) * 1000);
    nothing(&b, &params, 0);
    CHECK_EQ(bottleneck_turn_ns(&b), NC_NS_PER_MS);
    bottleneck_free(&b);
}

int main(void)
{
    RUN(tail_drop_takes_the_newest);
    RUN(mm_links_opportunities_serve_the_queue);
    RUN(head_drop_takes_the_oldest_that_waits);
    RUN(packets_can_be_the_bound);
    RUN(a_queue_smaller_than_a_packet_still_serves);
    RUN(an_unbounded_queue_grows);
    RUN(packets_that_wait_are_timed_by_a_new_rate);
    RUN(what_leaves_within_a_millisecond_is_decided_ahead);
    return 0;
}
