/* Why parts were lost, on a path of 10 ms and 1 ms a part whose every loss is known. */
#include "losses.h"

#include "check.h"
#include "tally.h"

#define MS INT64_C(1000000)
enum { LEN = 1000, ROWS = 64 };

struct run {
    struct pl_transfer t;
    struct pl_loss_causes causes;
    uint64_t seq;
    size_t n;
    struct pl_loss rows[ROWS];
};

static void keep(void *context, const struct pl_loss *row)
{
    struct run *run = context;
    CHECK(run->n < ROWS);
    run->rows[run->n++] = *row;
}

/* `longest_ms`: the longest queue of the transfer. */
static void begin(struct run *run, int64_t longest_ms)
{
    *run = (struct run){.t = {.min_delay_ns = 10 * MS,
                              .max_delay_ns = (10 + longest_ms) * MS,
                              .min_rtt_ns = 20 * MS,
                              .receiver_last_ns = INT64_MAX}};
}

static void start(struct run *run)
{
    pl_loss_causes_begin(&run->causes, &run->t, keep, run);
}

/* queue_ms < 0: the part is lost, with `fate` in the box. */
static void part(struct run *run, int64_t t_ms, int64_t queue_ms, uint8_t fate, int64_t exit_ns)
{
    struct pl_segment segment = {.seq = run->seq,
                                 .len = LEN,
                                 .t_sent_ns = t_ms * MS,
                                 .t_received_ns = queue_ms < 0 ? -1 : (t_ms + 10 + queue_ms) * MS,
                                 .delay_ns = queue_ms < 0 ? -1 : (10 + queue_ms) * MS,
                                 .box_fate = fate,
                                 .t_box_exit_ns = exit_ns};
    run->seq += LEN;
    CHECK_EQ(pl_loss_causes_add(&run->causes, &segment), 0);
}

static void arrive(struct run *run, int64_t t_ms, int64_t queue_ms)
{
    part(run, t_ms, queue_ms, PL_NO_FATE, -1);
}

static void lose(struct run *run, int64_t t_ms)
{
    part(run, t_ms, -1, PL_NO_FATE, -1);
}

static void a_loss_beside_the_longest_queue_is_a_tail_drop(void)
{
    struct run run;
    begin(&run, 20);
    start(&run);
    for (int64_t i = 0; i < 10; i++)
        arrive(&run, i, 10 + i);
    lose(&run, 10);
    arrive(&run, 11, 20);
    pl_loss_causes_end(&run.causes);
    CHECK_EQ(run.n, 1);
    CHECK_EQ(run.rows[0].seen_cause, PL_LOSS_TAIL_DROP);
    CHECK_EQ(run.rows[0].queue_ns, 20 * MS);
}

/* Parts leave the bottleneck 1 ms apart, with a queue of 5 ms. */
static void the_time_of_what_was_lost_tells_the_side(void)
{
    for (int behind = 0; behind < 2; behind++) {
        struct run run;
        begin(&run, 50);
        start(&run);
        for (int64_t i = 0; i < 10; i++)
            arrive(&run, i, 5);
        lose(&run, 10);
        arrive(&run, 11, behind ? 5 : 4);
        pl_loss_causes_end(&run.causes);
        CHECK_EQ(run.rows[0].seen_cause, behind ? PL_LOSS_BEHIND : PL_LOSS_BEFORE);
        CHECK_EQ(run.rows[0].spacing_ns, (behind ? 2 : 1) * MS);
    }
}

static void without_a_queue_the_side_stays_open(void)
{
    struct run run;
    begin(&run, 50);
    start(&run);
    for (int64_t i = 0; i < 10; i++)
        arrive(&run, 10 * i, 0);
    lose(&run, 100);
    arrive(&run, 110, 0);
    pl_loss_causes_end(&run.causes);
    CHECK_EQ(run.rows[0].seen_cause, PL_LOSS_ANYWHERE);
}

static void a_time_in_which_nothing_arrives_is_an_outage(void)
{
    struct run run;
    begin(&run, 20);
    start(&run);
    arrive(&run, 0, 20);
    for (int64_t i = 1; i < 16; i++)
        lose(&run, i);
    arrive(&run, 300, 0);
    pl_loss_causes_end(&run.causes);
    CHECK_EQ(run.n, 15);
    CHECK_EQ(run.rows[14].seen_cause, PL_LOSS_OUTAGE);
    CHECK_EQ(run.rows[0].run, 15);
}

/* Most parts meet no queue, and all losses a long one. */
static void losses_where_the_queue_is_long_are_managed(void)
{
    for (int managed = 0; managed < 2; managed++) {
        struct run run;
        begin(&run, 40);
        run.t.part_queues[0] = 1000;
        run.t.part_queues[pl_queue_bin(15 * MS)] = 50;
        run.t.loss_queues[managed ? pl_queue_bin(15 * MS) : 0] = 5;
        start(&run);
        arrive(&run, 0, 15);
        lose(&run, 1);
        arrive(&run, 2, 15);
        pl_loss_causes_end(&run.causes);
        CHECK_EQ(run.rows[0].seen_cause == PL_LOSS_AQM, managed);
    }
}

static void the_boxs_record_decides_where_there_is_one(void)
{
    static const struct {
        uint8_t fate;
        int64_t exit_ns;
        enum pl_loss_cause cause;
    } rows[] = {
        {FATE_QUEUE, -1, PL_LOSS_TAIL_DROP},    {FATE_AQM, -1, PL_LOSS_AQM},
        {FATE_LOSS, -1, PL_LOSS_BEFORE},        {FATE_LOSS, 5 * MS, PL_LOSS_BEHIND},
        {FATE_MEMORY, -1, PL_LOSS_EMULATOR},    {PL_NO_FATE, -1, PL_LOSS_ANYWHERE},
        {FATE_PACE, 5 * MS, PL_LOSS_TAIL_DROP}, {FATE_DRAIN, 5 * MS, PL_LOSS_RECEIVER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct run run;
        begin(&run, 50);
        start(&run);
        arrive(&run, 0, 0);
        part(&run, 10, -1, rows[i].fate, rows[i].exit_ns);
        arrive(&run, 20, 0);
        pl_loss_causes_end(&run.causes);
        CHECK_EQ(run.rows[0].cause, rows[i].cause);
        CHECK_EQ(run.rows[0].seen_cause, PL_LOSS_ANYWHERE);
    }
}

int main(void)
{
    RUN(a_loss_beside_the_longest_queue_is_a_tail_drop);
    RUN(the_time_of_what_was_lost_tells_the_side);
    RUN(without_a_queue_the_side_stays_open);
    RUN(a_time_in_which_nothing_arrives_is_an_outage);
    RUN(losses_where_the_queue_is_long_are_managed);
    RUN(the_boxs_record_decides_where_there_is_one);
    return 0;
}
