/* Percentiles and rates of a time interval, computed from the states at its ends. */
#include "interval.h"

#include "check.h"
#include "stats_json.h"

static json_t *lateness(uint64_t low, uint64_t high, struct histogram *histogram)
{
    for (uint64_t value = low; value < high; value++)
        histogram_add(histogram, value, 1);
    return histogram_json(histogram);
}

/* The first second is 1000 times slower than the second one. It must not affect the percentiles of the second one. */
static void percentiles_are_those_of_the_interval(void)
{
    struct histogram all = {0}, only = {0};
    json_t *before = lateness(1000000, 1001000, &all), *after = lateness(1000, 3000, &all);
    json_decref(lateness(1000, 3000, &only));
    struct histogram got = interval_lateness(before, after);
    CHECK_EQ(got.count, 2000);
    for (double share = 0.01; share <= 1; share += 0.01) {
        uint64_t mine = histogram_percentile(&got, share), want = histogram_percentile(&only, share);
        CHECK(mine >= want && (double)mine <= (double)want * 1.19);
    }
    CHECK_EQ(histogram_percentile(&all, 0.99) >= 1000000, 1);
    json_decref(before);
    json_decref(after);
}

static void an_idle_interval_has_none(void)
{
    struct histogram all = {0};
    json_t *state = lateness(0, 5000, &all), *nothing = json_object();
    struct histogram got = interval_lateness(state, state);
    CHECK_EQ(got.count, 0);
    CHECK_EQ(histogram_percentile(&got, 0.99), 0);
    got = interval_lateness(nothing, state); /* a box that has sent nothing yet */
    CHECK_EQ(got.count, 5000);
    CHECK_EQ(got.max, 4999);
    json_decref(state);
    json_decref(nothing);
}

static json_t *state(uint64_t uptime_ns, uint64_t packets, uint64_t lost)
{
    json_t *direction = json_pack("{s:I, s:I, s:I, s:{s:I, s:i}, s:I, s:{s:I, s:[]}}", "in_packets",
                                  (json_int_t)packets, "in_bytes", (json_int_t)packets * 1500, "out_packets",
                                  (json_int_t)(packets - lost), "drops", "loss", (json_int_t)lost, "queue", 3,
                                  "queue_bytes", (json_int_t)packets, "lateness", "max_ns", (json_int_t)0, "histogram");
    return json_pack("{s:I, s:{s:o, s:O}, s:{s:b}}", "uptime_ns", (json_int_t)uptime_ns, "statistics", "ab", direction,
                     "ba", direction, "verdict", "valid", 1);
}

static long long number(json_t *object, const char *direction, const char *key)
{
    return json_integer_value(json_object_get(json_object_get(object, direction), key));
}

static void rates_and_drops_are_differences(void)
{
    json_t *before = state(1000000000, 100, 2), *after = state(1500000000, 1100, 12),
           *got = interval_json(before, after);
    CHECK(got);
    CHECK_EQ(json_integer_value(json_object_get(got, "interval_ns")), 500000000);
    CHECK_EQ(number(got, "ab", "in_packets"), 1000);
    CHECK_EQ(number(got, "ab", "in_packets_per_s"), 2000);
    CHECK_EQ(number(got, "ba", "in_bps"), 2000 * 1500 * 8);
    CHECK_EQ(number(got, "ab", "out_packets"), 990);
    CHECK_EQ(number(got, "ab", "queue_bytes"), 1100);
    json_t *drops = json_object_get(json_object_get(got, "ab"), "drops");
    CHECK_EQ(json_integer_value(json_object_get(drops, "loss")), 10);
    CHECK_EQ(json_integer_value(json_object_get(drops, "queue")), 0);
    CHECK(json_is_true(json_object_get(got, "valid")));
    CHECK(!interval_json(after, before)); /* a box that was restarted */
    json_decref(before);
    json_decref(after);
    json_decref(got);
}

int main(void)
{
    RUN(percentiles_are_those_of_the_interval);
    RUN(an_idle_interval_has_none);
    RUN(rates_and_drops_are_differences);
    return 0;
}
