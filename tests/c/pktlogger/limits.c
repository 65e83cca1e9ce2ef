/* What limited a sender, on senders of 1,000 bytes a packet over a path of 40 ms whose limit is known. */
#include "limits.h"

#include "check.h"

#define MS INT64_C(1000000)
enum { MSS = 1000, ROWS = 64 };
#define RTT_NS (40 * MS)
#define OPEN_WINDOW 10000000

/* A sender and the rows about it. */
struct run {
    struct pl_limits *limits;
    int64_t now_ns;
    uint64_t una, high;
    uint32_t window;
    enum pl_sender_mode mode;
    int64_t queue_ns;
    size_t n;
    struct pl_limit rows[ROWS];
};

static void keep(void *context, const struct pl_limit *row)
{
    struct run *run = context;
    CHECK(run->n < ROWS);
    CHECK(run->n == 0 || run->rows[run->n - 1].t1_ns == row->t0_ns);
    run->rows[run->n++] = *row;
}

static void begin_behind(struct run *run, int64_t segment_ns)
{
    *run = (struct run){.una = 1, .high = 1, .window = OPEN_WINDOW};
    const struct pl_limits_path path = {
        .mss = MSS, .min_rtt_ns = RTT_NS, .segment_ns = segment_ns, .sink = keep, .context = run};
    run->limits = pl_limits_new(&path);
    CHECK(run->limits);
}

static void begin(struct run *run)
{
    begin_behind(run, 0);
}

static void send(struct run *run, int64_t after_ns, bool timeout)
{
    run->now_ns += after_ns;
    if (!timeout)
        run->high += MSS;
    const struct pl_limits_send sent = {.t_ns = run->now_ns,
                                        .queue_ns = run->queue_ns,
                                        .una = run->una,
                                        .high = run->high,
                                        .len = MSS,
                                        .window = run->window,
                                        .window_known = true,
                                        .timeout = timeout,
                                        .mode = run->mode};
    CHECK_EQ(pl_limits_send(run->limits, &sent), 0);
}

static void acknowledge(struct run *run, int64_t after_ns, uint64_t bytes, bool recovered)
{
    run->now_ns += after_ns;
    run->una += bytes;
    if (recovered)
        run->mode = PL_MODE_NORMAL;
    const struct pl_limits_ack ack = {.t_ns = run->now_ns,
                                      .una = run->una,
                                      .high = run->high,
                                      .window = run->window,
                                      .advanced = bytes > 0,
                                      .recovered = recovered};
    CHECK_EQ(pl_limits_ack(run->limits, &ack), 0);
}

/* A round of `packets`: all of them at once, 40 ms of silence, one acknowledgement. */
static void burst(struct run *run, int packets)
{
    for (int i = 0; i < packets; i++)
        send(run, 1000, false);
    acknowledge(run, RTT_NS - 1000 * packets, run->high - run->una, false);
}

/* The time of a cause, ms. Ends the sender. */
static void end(struct run *run, int64_t ms[PL_LIMIT_N])
{
    pl_limits_free(run->limits);
    memset(ms, 0, PL_LIMIT_N * sizeof *ms);
    for (size_t i = 0; i < run->n; i++)
        ms[run->rows[i].cause] += (run->rows[i].t1_ns - run->rows[i].t0_ns) / MS;
}

static void doubling_is_slow_start_and_one_more_is_not(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int packets = 10; packets <= 80; packets *= 2)
        burst(&run, packets);
    for (int packets = 83; packets <= 101; packets += 3)
        burst(&run, packets);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(run.rows[0].cause, PL_LIMIT_SLOW_START);
    CHECK_EQ(run.rows[0].flight_bytes, 80 * MSS);
    CHECK(ms[PL_LIMIT_SLOW_START] >= 159 && ms[PL_LIMIT_SLOW_START] <= 161);
    CHECK(ms[PL_LIMIT_CONGESTION_AVOIDANCE] >= 279 && ms[PL_LIMIT_CONGESTION_AVOIDANCE] <= 281);
}

static void a_flight_that_stands_still_is_the_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    burst(&run, 20);
    for (int round = 0; round < 10; round++)
        burst(&run, 40);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 359); /* all rounds but the one that grew to it */
}

static void even_packets_that_no_acknowledgement_clocks_are_paced(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int i = 0; i < 400; i++) {
        send(&run, MS / 2, false);
        if (i >= 40)
            acknowledge(&run, MS / 2, MSS, false);
        else
            run.now_ns += MS / 2;
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_PACING] >= 300);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
}

static void a_full_window_is_the_receivers(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    run.window = 10 * MSS;
    for (int round = 0; round < 10; round++)
        burst(&run, 10);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_RECEIVER_WINDOW] >= 390);
    CHECK_EQ(run.rows[run.n - 1].window_bytes, 10 * MSS);
}

static void a_window_of_zero_is_closed(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    burst(&run, 20);
    send(&run, 1000, false);
    run.window = 0;
    acknowledge(&run, MS, MSS, false);
    run.window = OPEN_WINDOW;
    acknowledge(&run, 500 * MS, 0, false);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_ZERO_WINDOW] >= 500 && ms[PL_LIMIT_ZERO_WINDOW] <= 502);
}

static void silence_with_room_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    send(&run, 700 * MS, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 700);
}

/* Bursts of 4 packets every 6 ms. The acknowledgements of a burst come long before the next one is sent. */
static void a_pause_far_shorter_than_a_round_trip_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int pause = 0; pause < 12; pause++) {
        for (int i = 0; i < 4; i++)
            send(&run, 1000, false);
        for (int i = 0; i < 2 && pause >= 6; i++)
            acknowledge(&run, MS / 10, (uint64_t)2 * MSS, false);
        run.now_ns += 6 * MS;
    }
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 30);
}

/* The writer sleeps until a third of the buffer is free, which the last of three acknowledgements does. */
static void a_wait_that_an_acknowledgement_ends_is_the_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    burst(&run, 20);
    for (int i = 0; i < 40; i++)
        send(&run, 1000, false);
    acknowledge(&run, 30 * MS, (uint64_t)4 * MSS, false);
    for (int round = 0; round < 30; round++) {
        acknowledge(&run, 3 * MS, (uint64_t)4 * MSS, false);
        acknowledge(&run, 3 * MS, (uint64_t)4 * MSS, false);
        for (int i = 0; i < 12; i++)
            send(&run, 1000, false);
        acknowledge(&run, 3 * MS, (uint64_t)4 * MSS, false);
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 200);
    CHECK(ms[PL_LIMIT_APPLICATION] <= 40);
}

/* Six times: half of the flight of 100 packets is acknowledged, and as soon as 50 are left, or later, 50 go out. */
static void refill(struct run *run, int64_t later_ns, int64_t ms[PL_LIMIT_N])
{
    begin(run);
    for (int i = 0; i < 100; i++)
        send(run, 1000, false);
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 25; i++)
            acknowledge(run, MS, (uint64_t)2 * MSS, false);
        send(run, later_ns, false);
        for (int i = 1; i < 50; i++)
            send(run, 1000, false);
    }
    end(run, ms);
}

static void silences_that_end_with_as_much_in_flight_are_the_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    refill(&run, 100000, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 149);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

static void silences_that_no_acknowledgement_ends_are_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    refill(&run, MS / 2, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 150);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
}

/* The smallest delay is that of a short segment, and the bottleneck takes 0.6 ms for a full one. */
static void a_segments_own_time_at_the_bottleneck_is_no_queue(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_behind(&run, 600000);
    run.queue_ns = 580000;
    for (int round = 0; round < 10; round++)
        burst(&run, 40 + round);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_PATH_RATE], 0);
}

static void a_queue_that_no_packet_misses_is_the_paths_rate(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    run.queue_ns = 20 * MS;
    for (int round = 0; round < 10; round++)
        burst(&run, 40);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_PATH_RATE] >= 399);
    CHECK_EQ(run.rows[0].queue_ns, 20 * MS);
}

static void recoveries_begin_and_end_where_they_do(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    for (int i = 0; i < 20; i++)
        send(&run, 1000, false);
    run.mode = PL_MODE_FAST;
    send(&run, 40 * MS, false); /* the gap before it was not a recovery yet */
    acknowledge(&run, 40 * MS, run.high - run.una, true);
    for (int i = 0; i < 5; i++)
        send(&run, 1000, false);
    run.mode = PL_MODE_TIMEOUT;
    send(&run, 300 * MS, true);
    acknowledge(&run, 40 * MS, run.high - run.una, true);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 40);
    CHECK_EQ(ms[PL_LIMIT_TIMEOUT], 340);
}

/* The box holds an acknowledgement for 30 ms of the 40 between two packets, and one for 5 ms of the next 40. */
static void a_box_that_was_late_for_most_of_a_gap_is_the_limit(void)
{
    struct run run = {.una = 1, .high = 1, .window = OPEN_WINDOW};
    int64_t ms[PL_LIMIT_N];
    const struct pl_late_span late[] = {{5 * MS, 35 * MS}, {41 * MS, 46 * MS}};
    const struct pl_limits_path path = {
        .mss = MSS, .min_rtt_ns = RTT_NS, .late = late, .late_n = 2, .sink = keep, .context = &run};
    run.limits = pl_limits_new(&path);
    CHECK(run.limits);
    for (int i = 0; i < 3; i++) {
        send(&run, 0, false);
        acknowledge(&run, RTT_NS, MSS, false);
    }
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_EMULATOR_LATE], 40);
    CHECK_EQ(run.rows[0].cause, PL_LIMIT_EMULATOR_LATE);
}

int main(void)
{
    RUN(a_box_that_was_late_for_most_of_a_gap_is_the_limit);
    RUN(doubling_is_slow_start_and_one_more_is_not);
    RUN(a_flight_that_stands_still_is_the_send_buffer);
    RUN(even_packets_that_no_acknowledgement_clocks_are_paced);
    RUN(a_full_window_is_the_receivers);
    RUN(a_window_of_zero_is_closed);
    RUN(silence_with_room_is_the_application);
    RUN(a_pause_far_shorter_than_a_round_trip_is_the_application);
    RUN(a_wait_that_an_acknowledgement_ends_is_the_send_buffer);
    RUN(silences_that_end_with_as_much_in_flight_are_the_send_buffer);
    RUN(silences_that_no_acknowledgement_ends_are_the_application);
    RUN(a_segments_own_time_at_the_bottleneck_is_no_queue);
    RUN(a_queue_that_no_packet_misses_is_the_paths_rate);
    RUN(recoveries_begin_and_end_where_they_do);
    return 0;
}
