#include "interval.h"

#include "nc_clock.h"

static int64_t at(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* The count of the bucket with this upper edge. Both lists are in ascending order, so *from moves along the older
 * one. */
static int64_t count_before(const json_t *buckets, size_t *from, int64_t upper)
{
    for (; *from < json_array_size(buckets); ++*from) {
        const json_t *bucket = json_array_get(buckets, *from);
        int64_t edge = json_integer_value(json_array_get(bucket, 0));
        if (edge == upper)
            return json_integer_value(json_array_get(bucket, 1));
        if ((uint64_t)edge > (uint64_t)upper)
            break;
    }
    return 0;
}

struct histogram interval_lateness(const json_t *before, const json_t *after)
{
    struct histogram difference = {0};
    const json_t *old = json_object_get(before, "histogram"), *buckets = json_object_get(after, "histogram");
    size_t from = 0, i;
    json_t *bucket;
    json_array_foreach((json_t *)buckets, i, bucket)
    {
        int64_t upper = json_integer_value(json_array_get(bucket, 0));
        int64_t grown = json_integer_value(json_array_get(bucket, 1)) - count_before(old, &from, upper);
        if (grown > 0)
            histogram_add(&difference, (uint64_t)upper, (uint64_t)grown); /* an upper edge belongs to its own bucket */
    }
    uint64_t ever = (uint64_t)at(after, "max_ns");
    if (difference.max > ever)
        difference.max = ever;
    return difference;
}

static json_t *lateness_json(const struct histogram *lateness)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "count", (json_int_t)lateness->count, "p50_ns",
                     (json_int_t)histogram_percentile(lateness, 0.50), "p90_ns",
                     (json_int_t)histogram_percentile(lateness, 0.90), "p99_ns",
                     (json_int_t)histogram_percentile(lateness, 0.99), "max_ns", (json_int_t)lateness->max);
}

/* Takes every cause that either state names, so that a new cause needs no change here. */
static json_t *drops_json(const json_t *before, const json_t *after)
{
    json_t *drops = json_object(), *count;
    const char *cause;
    json_object_foreach((json_t *)after, cause, count)
        json_object_set_new(drops, cause, json_integer(json_integer_value(count) - at(before, cause)));
    return drops;
}

/* The increase of a counter that starts again from 0 when a parameter is set. */
static int64_t grown(const json_t *before, const json_t *after, const char *name)
{
    int64_t old = at(before, name), new = at(after, name);
    return new >= old ? new - old : new;
}

static json_t *loss_json(const json_t *before, const json_t *after)
{
    int64_t packets = grown(before, after, "packets"), lost = grown(before, after, "lost");
    int64_t bursts = grown(before, after, "bursts");
    return json_pack("{s:I, s:I, s:I, s:f, s:f}", "packets", (json_int_t)packets, "lost", (json_int_t)lost, "bursts",
                     (json_int_t)bursts, "ratio_ppb", packets ? (double)lost / (double)packets * 1e9 : 0.0,
                     "mean_burst", bursts ? (double)lost / (double)bursts : 0.0);
}

/* Rate and losses of the interval. Jitter covers the time since it was set, because its sums are not in the state. */
static json_t *achieved_json(const json_t *before, const json_t *after)
{
    const json_t *old_rate = json_object_get(before, "rate"), *rate = json_object_get(after, "rate");
    int64_t bytes = grown(old_rate, rate, "bytes"), busy_ns = grown(old_rate, rate, "busy_ns");
    json_t *object = json_pack("{s:{s:I, s:I, s:f}}", "rate", "bytes", (json_int_t)bytes, "busy_ns",
                               (json_int_t)busy_ns, "bps", busy_ns ? (double)bytes * 8e9 / (double)busy_ns : 0.0);
    static const char *const losses[] = {"loss", "loss_after"};
    for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++)
        json_object_set_new(object, losses[i],
                            loss_json(json_object_get(before, losses[i]), json_object_get(after, losses[i])));
    json_object_set(object, "jitter", json_object_get(after, "jitter"));
    return object;
}

static json_int_t per_second(int64_t amount, int64_t interval_ns)
{
    return (json_int_t)((double)amount * (double)NC_NS_PER_S / (double)interval_ns + 0.5);
}

static json_t *direction_json(const json_t *before, const json_t *after, int64_t interval_ns)
{
    static const char *const counters[] = {"in_packets", "in_bytes",   "in_frames",  "out_packets",
                                           "out_bytes",  "out_frames", "duplicated", "corrupted",
                                           "forged",     "reordered",  "marked"};
    static const char *const levels[] = {"queue_bytes", "queue_peak_bytes", "held_bytes", "held_peak_bytes"};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        json_object_set_new(object, counters[i], json_integer(at(after, counters[i]) - at(before, counters[i])));
    json_object_set_new(object, "in_bps", json_integer(per_second(at(object, "in_bytes") * 8, interval_ns)));
    json_object_set_new(object, "in_packets_per_s", json_integer(per_second(at(object, "in_packets"), interval_ns)));
    json_object_set_new(object, "out_bps", json_integer(per_second(at(object, "out_bytes") * 8, interval_ns)));
    json_object_set_new(object, "out_packets_per_s", json_integer(per_second(at(object, "out_packets"), interval_ns)));
    json_object_set_new(object, "drops", drops_json(json_object_get(before, "drops"), json_object_get(after, "drops")));
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++)
        json_object_set_new(object, levels[i], json_integer(at(after, levels[i])));
    json_object_set_new(object, "achieved",
                        achieved_json(json_object_get(before, "achieved"), json_object_get(after, "achieved")));
    struct histogram lateness =
        interval_lateness(json_object_get(before, "lateness"), json_object_get(after, "lateness"));
    json_object_set_new(object, "lateness", lateness_json(&lateness));
    return object;
}

json_t *interval_json(const json_t *before, const json_t *after)
{
    static const char *const names[] = {"ab", "ba"};
    int64_t interval_ns = at(after, "uptime_ns") - at(before, "uptime_ns");
    if (interval_ns <= 0)
        return NULL;
    json_t *interval = json_pack("{s:I, s:I}", "uptime_ns", (json_int_t)at(after, "uptime_ns"), "interval_ns",
                                 (json_int_t)interval_ns);
    const json_t *old = json_object_get(before, "statistics"), *new = json_object_get(after, "statistics");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_set_new(
            interval, names[i],
            direction_json(json_object_get(old, names[i]), json_object_get(new, names[i]), interval_ns));
    json_object_set(interval, "valid", json_object_get(json_object_get(after, "verdict"), "valid"));
    return interval;
}
