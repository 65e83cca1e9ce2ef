/* The schedule: order, growth, runs. */
#include "schedule.h"

#include "check.h"
#include "random.h"

static bool add(struct schedule *schedule, uint64_t time_ns, uint64_t number)
{
    static struct packet_buffer *const nowhere = NULL; /* part numbers with gaps, so they do not form runs */
    struct wire_packet packet = {.time_ns = time_ns, .number = number, .buffer = nowhere, .part = (uint32_t)number * 2};
    return schedule_add(schedule, &packet, 1000);
}

static void order_is_kept_while_it_grows(void)
{
    struct schedule schedule;
    schedule_init(&schedule);
    uint64_t in = 0, out = 0;
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 1000; i++, in++)
            CHECK(add(&schedule, in * 10, in));
        for (int i = 0; i < 500; i++, schedule_pop(&schedule))
            CHECK_EQ(schedule_first(&schedule)->number, out++);
    }
    for (; schedule_first(&schedule); schedule_pop(&schedule))
        CHECK_EQ(schedule_first(&schedule)->number, out++);
    CHECK_EQ(in, out);
    schedule_free(&schedule);
}

static void what_is_out_of_order_leaves_at_its_time(void)
{
    struct schedule schedule;
    schedule_init(&schedule);
    uint64_t pushed = 0, popped = 0, last_ns = 0, now_ns = 0;
    for (; pushed < 100000; pushed++) {
        now_ns += random_u64(1, pushed) % 100;
        CHECK(add(&schedule, now_ns + (random_u64(2, pushed) % 10 == 0 ? 5000 : 1000), pushed));
        for (struct due *due; (due = schedule_first(&schedule)) && due->time_ns <= now_ns; schedule_pop(&schedule)) {
            CHECK(due->time_ns >= last_ns);
            last_ns = due->time_ns;
            popped++;
        }
    }
    for (struct due *due; (due = schedule_first(&schedule)); schedule_pop(&schedule), popped++) {
        CHECK(due->time_ns >= last_ns);
        last_ns = due->time_ns;
    }
    CHECK_EQ(popped, pushed);
    schedule_free(&schedule);
}

static void neighbours_are_one_run_within_the_granularity(void)
{
    struct schedule schedule;
    schedule_init(&schedule);
    struct wire_packet packet = {.time_ns = 100};
    for (packet.part = 0; packet.part < 5; packet.part++, packet.time_ns += 400)
        CHECK(schedule_add(&schedule, &packet, 1000)); /* 100 500 900 | 1300 1700 */
    CHECK_EQ(schedule_first(&schedule)->parts, 3);
    CHECK_EQ(schedule_first(&schedule)->time_ns, 900);
    schedule_pop(&schedule);
    CHECK_EQ(schedule_first(&schedule)->first, 3);
    packet.edits = EDIT_CE; /* part 5 was changed, so it leaves on its own */
    CHECK(schedule_add(&schedule, &packet, 1000));
    packet.edits = 0;
    packet.part = 7; /* part 6 is missing */
    CHECK(schedule_add(&schedule, &packet, 1000));
    schedule_pop(&schedule);
    CHECK_EQ(schedule_first(&schedule)->edits, EDIT_CE);
    schedule_pop(&schedule);
    CHECK_EQ(schedule_first(&schedule)->first, 7);
    schedule_free(&schedule);
}

int main(void)
{
    RUN(order_is_kept_while_it_grows);
    RUN(what_is_out_of_order_leaves_at_its_time);
    RUN(neighbours_are_one_run_within_the_granularity);
    return 0;
}
