/* Each cause alone makes a box's measurement invalid and is named with its direction. Without any cause the measurement
 * is valid. */
#include "verdict.h"

#include "check.h"

#define LIMIT_NS 1000000

static struct histogram on_time, late;

static json_t *judged(struct verdict_of ab, struct verdict_of ba)
{
    const struct verdict_of of[2] = {ab, ba};
    return verdict_json(of, LIMIT_NS);
}

static void nothing_wrong_is_valid(void)
{
    json_t *verdict = judged((struct verdict_of){.lateness = &on_time}, (struct verdict_of){.lateness = &on_time});
    CHECK(json_is_true(json_object_get(verdict, "valid")));
    CHECK_EQ(json_array_size(json_object_get(verdict, "reasons")), 0);
    json_decref(verdict);
}

static void each_cause_is_a_reason_of_its_direction(void)
{
    static const struct {
        struct verdict_of of;
        const char *says;
    } cases[] = {
        {{.dropped_memory = 1}, "1 packets dropped for want of memory"},
        {{.malformed = 2}, "2 malformed frames dropped"},
        {{.not_taken = 3}, "3 packets that the far port did not take"},
        {{.dropped_unread = 4}, "4 packets dropped before the box could read them"},
        {{.unrecorded = 5}, "5 packets not in the record for want of room"},
        {{.lateness = &late}, "p99 lateness 3.1 ms (limit 1 ms)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int d = 0; d < 2; d++) {
            struct verdict_of fine = {.lateness = &on_time}, bad = cases[i].of;
            char says[100];
            bad.lateness = bad.lateness ? bad.lateness : &on_time;
            snprintf(says, sizeof says, "%s: %s", d ? "ba" : "ab", cases[i].says);
            json_t *verdict = d ? judged(fine, bad) : judged(bad, fine);
            CHECK(json_is_false(json_object_get(verdict, "valid")));
            CHECK_EQ(json_array_size(json_object_get(verdict, "reasons")), 1);
            CHECK_STR(json_string_value(json_array_get(json_object_get(verdict, "reasons"), 0)), says);
            json_decref(verdict);
        }
}

static void a_port_that_is_gone_is_named(void)
{
    struct verdict_of fine = {.lateness = &on_time}, gone = {.lateness = &on_time, .port_gone = true};
    json_t *verdict = judged(fine, gone);
    CHECK_STR(json_string_value(json_array_get(json_object_get(verdict, "reasons"), 0)),
              "port b: its interface was deleted");
    json_decref(verdict);
}

/* One packet in a hundred may be late, because the limit is for p99. */
static void a_rare_late_packet_is_no_reason(void)
{
    struct histogram rare = {0};
    histogram_add(&rare, 1000, 9950);
    histogram_add(&rare, 5000000, 50);
    json_t *verdict = judged((struct verdict_of){.lateness = &rare}, (struct verdict_of){.lateness = &on_time});
    CHECK(json_is_true(json_object_get(verdict, "valid")));
    json_decref(verdict);
}

int main(void)
{
    histogram_add(&on_time, LIMIT_NS, 1000);
    histogram_add(&late, 3000001, 1000);
    RUN(nothing_wrong_is_valid);
    RUN(each_cause_is_a_reason_of_its_direction);
    RUN(a_port_that_is_gone_is_named);
    RUN(a_rare_late_packet_is_no_reason);
    return 0;
}
