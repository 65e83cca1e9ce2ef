/* Limits of a sender that the gaps between its packets show by themselves. */
#include "limited_sender.h"

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

/* Bursts of 4 packets every 6 ms. All acknowledgements of a burst come long before the next burst. */
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

/* Eight times: ten packets, all acknowledged, and 30 ms of silence. The packets met a queue of this many ms. */
static int64_t send_buffer_ms(int64_t queue_ms)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_as(&run, (struct pl_limits_path){.always_data = true, .opening_bytes = MSS});
    run.queue_ns = queue_ms * MS;
    for (int round = 0; round < 8; round++) {
        burst(&run, 10);
        run.now_ns += 30 * MS;
    }
    send(&run, 1000, false);
    end(&run, ms);
    return ms[PL_LIMIT_SEND_BUFFER];
}

static void silence_shorter_than_the_queue_is_not_the_send_buffer(void)
{
    CHECK(send_buffer_ms(0) >= 7 * 30);
    CHECK_EQ(send_buffer_ms(31), 0);
}

/* A relay on the same machine as the receiver: each packet is acknowledged before the next one arrives over the
 * line. */
static void gaps_with_nothing_outstanding_are_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int i = 0; i < 200; i++) {
        send(&run, MS * 58 / 100, false);
        acknowledge(&run, MS / 50, MSS, false);
    }
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 110);
}

/* The writer sleeps until a third of the buffer is free. This is so after the last of three acknowledgements. */
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

/* Six times, half of a flight of 100 packets is acknowledged. When 50 packets are left, or `later_ns` after that, 50
 * more are sent. */
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

/* 44 and 36 packets at once, alternately, while 30 are in flight. Each time an acknowledgement ends 7 ms of silence, a
 * sixth of a round trip. If the window was `reduced`, Linux waits in this way for room for a super-packet. A window
 * that was never reduced would have let each acknowledgement send more than two packets. */
static int64_t waited_for_room_ms(bool reduced)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int i = 0; i < 74; i++)
        send(&run, 1000, false);
    for (int round = 0; round < 12; round++) {
        int before = round % 2 ? 36 : 44, now = round % 2 ? 44 : 36;
        run.now_ns += 30 * MS;
        for (int i = 0; i < before / 2; i++)
            acknowledge(&run, MS / 3, (uint64_t)2 * MSS, false);
        for (int i = 0; i < now; i++) {
            run.reduced = reduced && round + i == 0;
            send(&run, 1000, false);
        }
    }
    end(&run, ms);
    return ms[PL_LIMIT_SEND_BUFFER];
}

static void a_burst_that_an_acknowledgement_sets_off_is_the_send_buffer(void)
{
    CHECK(waited_for_room_ms(false) >= 10 * 35);
    CHECK_EQ(waited_for_room_ms(true), 0);
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

/* A server whose responses do not fit into its send buffer. In each response it waits for room once, and then for 30 ms
 * for the next request. */
static void the_wait_for_a_request_between_two_full_buffers_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int response = 0; response < 2; response++) {
        for (int i = 0; i < 100; i++)
            send(&run, 1000, false);
        for (int i = 0; i < 25; i++)
            acknowledge(&run, MS, (uint64_t)2 * MSS, false);
        send(&run, 100000, false);
        run.answer = true;
        acknowledge(&run, 30 * MS, run.high - run.una, false);
        run.answer = false;
    }
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 49 && ms[PL_LIMIT_SEND_BUFFER] <= 51);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 59 && ms[PL_LIMIT_APPLICATION] <= 61);
}

/* A queue exists when an outage begins. Two packets are sent as probes, the second one soon after the first. */
static void silence_in_an_outage_is_neither_the_application_nor_the_paths_rate(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_with_a_queue(&run);
    acknowledge(&run, MS, 10 * MSS, false); /* the last that arrives */
    send(&run, 150 * MS, false);
    run.mode = PL_MODE_FAST;
    send(&run, 50 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_CONGESTION_AVOIDANCE], 201);
    CHECK(ms[PL_LIMIT_PATH_RATE] >= QUEUE_MS - 1);
}

/* The path is down from the send at 41 ms until the retransmission by time-out at 441 ms, which arrives. The limit is
 * path_down for this whole time, although the sender waits for its time-out. */
static void a_path_that_is_down_is_the_limit_until_a_packet_passes(void)
{
    struct run run = {.gap = pl_gap_none(MSS), .una = 1, .high = 1, .window = OPEN_WINDOW};
    int64_t ms[PL_LIMIT_N];
    struct pl_time_span span = {41 * MS, 441 * MS};
    const struct pl_time_spans down = {.list = {.at = &span, .n = 1}};
    const struct pl_limits_path path = {.mss = MSS, .min_rtt_ns = RTT_NS, .down = &down, .sink = keep, .context = &run};
    run.limits = pl_limits_new(&path);
    CHECK(run.limits);
    send(&run, 0, false);
    acknowledge(&run, RTT_NS, MSS, false);
    for (int i = 0; i < 11; i++)
        send(&run, MS, false);
    run.mode = PL_MODE_FAST;
    send(&run, 89 * MS, false);
    run.mode = PL_MODE_TIMEOUT;
    send(&run, 300 * MS, true);
    acknowledge(&run, RTT_NS, run.high - run.una, true);
    send(&run, 0, false);
    end(&run, ms);
    /* until the outage ends, a millisecond into the gap after the time-out */
    CHECK_EQ(ms[PL_LIMIT_PATH_DOWN], 400);
    CHECK_EQ(ms[PL_LIMIT_TIMEOUT], 39);
    CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 0);
}

/* The same, but the path is known to be up again at 241 ms. From then on the sender waits for its time-out. */
static void a_path_that_is_up_again_leaves_the_wait_for_the_time_out(void)
{
    struct run run = {.gap = pl_gap_none(MSS), .una = 1, .high = 1, .window = OPEN_WINDOW};
    int64_t ms[PL_LIMIT_N];
    struct pl_time_span span = {41 * MS, 241 * MS};
    const struct pl_time_spans down = {.list = {.at = &span, .n = 1}};
    const struct pl_limits_path path = {.mss = MSS, .min_rtt_ns = RTT_NS, .down = &down, .sink = keep, .context = &run};
    run.limits = pl_limits_new(&path);
    CHECK(run.limits);
    send(&run, 0, false);
    acknowledge(&run, RTT_NS, MSS, false);
    send(&run, MS, false);
    run.mode = PL_MODE_TIMEOUT;
    send(&run, 400 * MS, true);
    acknowledge(&run, RTT_NS, run.high - run.una, true);
    send(&run, 0, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_PATH_DOWN], 200);
    CHECK_EQ(ms[PL_LIMIT_TIMEOUT], 200 + 40);
}

/* The retransmission at 441 ms arrives, but its acknowledgement is lost: the path is down until 641 ms. The next
 * acknowledgement arrives at 800 ms. If it is not known when the path came up, it counts as down until then. */
static void a_path_that_takes_the_acknowledgement_of_a_time_out_is_down_still(void)
{
    for (int known = 0; known < 2; known++) {
        struct run run = {.gap = pl_gap_none(MSS), .una = 1, .high = 1, .window = OPEN_WINDOW};
        int64_t ms[PL_LIMIT_N];
        struct pl_time_span span = {41 * MS, (known ? 641 : 800) * MS};
        const struct pl_time_spans down = {.list = {.at = &span, .n = 1}};
        const struct pl_limits_path path = {
            .mss = MSS, .min_rtt_ns = RTT_NS, .down = &down, .sink = keep, .context = &run};
        run.limits = pl_limits_new(&path);
        CHECK(run.limits);
        send(&run, 0, false);
        acknowledge(&run, RTT_NS, MSS, false);
        send(&run, MS, false);
        run.mode = PL_MODE_TIMEOUT;
        send(&run, 400 * MS, true);
        acknowledge(&run, 359 * MS, MSS, true);
        send(&run, 100 * MS, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PATH_DOWN], known ? 600 : 759);
        CHECK_EQ(ms[PL_LIMIT_TIMEOUT], known ? 159 : 0);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION], 100);
    }
}

/* A sender that halves its window at once sends nothing until half of the flight is acknowledged, as after a loss. */
static void silence_until_the_flight_has_shrunk_is_that_of_the_marks(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int i = 0; i < 40; i++)
        send(&run, 1000, false);
    acknowledge(&run, RTT_NS, MSS, false);
    for (int i = 0; i < 20; i++)
        acknowledge(&run, MS, MSS, false);
    run.reduced = true;
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_ECN], 60);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* The sender has reduced its window. Until its flight is that small, it sends one packet for every second packet that
 * is acknowledged, at once. Then a packet that no acknowledgement triggered shows that the program was the limit, also
 * for the packet after it. */
static void a_flight_that_still_shrinks_for_marks_leaves_the_program_nothing_to_do(void)
{
    for (int late = 0; late < 2; late++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin(&run);
        for (int i = 0; i < 10; i++)
            send(&run, 1000, false);
        acknowledge(&run, RTT_NS - 10000, 2 * MSS, false);
        run.reduced = true;
        send(&run, 0, false);
        acknowledge(&run, MS, MSS, false);
        acknowledge(&run, 30 * MS, MSS, false);
        send(&run, late ? 10 * MS : 0, false);
        acknowledge(&run, 10 * MS, 7 * MSS, false);
        acknowledge(&run, 20 * MS, MSS, false);
        send(&run, late ? 10 * MS : 0, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_ECN] >= 31, !late);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION] >= 40, late);
    }
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
    send(&run, 40 * MS, false); /* the gap before the first retransmission does not belong to the recovery yet */
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

/* A window is full when a recovery begins, and has room when it ends. From then on the sender waits for something other
 * than the receiver, such as its pace. The same holds for the wait for a retransmission after the window has got
 * room. */
static void a_window_that_has_room_again_is_not_what_is_awaited_behind_it(void)
{
    for (int again = 0; again < 2; again++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin(&run);
        burst(&run, 10);
        run.window = 20 * MSS;
        for (int i = 0; i < 20; i++)
            send(&run, 1000, false);
        if (!again)
            run.mode = PL_MODE_FAST;
        resend(&run, MS);
        acknowledge(&run, 40 * MS, 10 * MSS, !again);
        if (again)
            run.mode = PL_MODE_FAST;
        resend(&run, 30 * MS);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_RECEIVER_WINDOW], again ? 41 : 1);
        CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], again ? 30 : 40);
    }
}

static void a_pace_behind_a_recovery_is_not_the_window_before_it(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    run.window = 20 * MSS;
    for (int i = 0; i < 20; i++)
        send(&run, 1000, false);
    run.mode = PL_MODE_FAST;
    resend(&run, MS);
    acknowledge(&run, 40 * MS, 20 * MSS, true);
    send(&run, 3 * MS, false); /* too early for silence */
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_RECEIVER_WINDOW], 1);
    CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 40);
}

/* A program sends little and waits for an answer, which comes before its own octets are acknowledged. No sample shows
 * the wait. Neither a silence nor a round shows it, because a retransmission follows. */
static void a_few_octets_outstanding_leave_the_congestion_window_room(void)
{
    for (uint32_t len = 100; len <= MSS; len += MSS - 100) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin(&run);
        burst(&run, 2);
        run.len = len;
        send(&run, 1000, false);
        run.len = MSS;
        for (int i = 0; i < 4; i++)
            send(&run, i ? 1000 : 22 * MS, false);
        run.mode = PL_MODE_FAST;
        resend(&run, 2 * MS);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION], len < MSS ? 22 : 0);
    }
}

/* The only outstanding packet is lost, and its tail-loss probe arrives. */
static void the_wait_for_a_probe_is_neither_the_application_nor_a_time_out(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    send(&run, 1000, false);
    run.probe = true;
    send(&run, 280 * MS, true);
    acknowledge(&run, RTT_NS, MSS, false);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 280 + 40);
    CHECK_EQ(ms[PL_LIMIT_TIMEOUT], 0);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* The last three packets are lost. The probe repeats the last one, and its answer triggers the retransmission of the
 * other two. */
static void the_wait_for_the_answer_to_a_probe_is_part_of_the_recovery(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int i = 0; i < 10; i++)
        send(&run, 1000, false);
    acknowledge(&run, RTT_NS, (uint64_t)7 * MSS, false);
    run.probe = true;
    send(&run, 60 * MS, true);
    acknowledge(&run, 2 * RTT_NS, 0, false); /* with SACK */
    run.probe = false;
    run.mode = PL_MODE_FAST;
    resend(&run, 1000);
    acknowledge(&run, RTT_NS, (uint64_t)3 * MSS, true);
    send(&run, 300 * MS, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_FAST_RECOVERY] >= 100 + 80 + 40);
    CHECK_EQ(ms[PL_LIMIT_CONGESTION_AVOIDANCE] + ms[PL_LIMIT_SLOW_START], 0);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 299);
}

/* The probe is lost, too, and a retransmission by time-out repairs the loss. */
static void a_probe_without_an_answer_ends_in_the_time_out(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    send(&run, 1000, false);
    run.probe = true;
    send(&run, 280 * MS, true);
    run.probe = false;
    run.mode = PL_MODE_TIMEOUT;
    send(&run, 400 * MS, true);
    acknowledge(&run, RTT_NS, MSS, true);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 280);
    CHECK_EQ(ms[PL_LIMIT_TIMEOUT], 400 + 40);
}

/* Of the 40 ms between two packets, the box holds an acknowledgement back for 30 ms, and of the next 40 ms for 5 ms.
 * Then it holds all acknowledgements back for 150 ms, until a packet is retransmitted. */
static void a_box_that_was_late_for_most_of_a_gap_is_the_limit(void)
{
    struct run run = {.gap = pl_gap_none(MSS), .una = 1, .high = 1, .window = OPEN_WINDOW};
    int64_t ms[PL_LIMIT_N];
    struct pl_time_span spans[] = {{5 * MS, 35 * MS}, {41 * MS, 46 * MS}, {125 * MS, 275 * MS}};
    const struct pl_time_spans late = {.list = {.at = spans, .n = 3}};
    const struct pl_limits_path path = {.mss = MSS, .min_rtt_ns = RTT_NS, .late = &late, .sink = keep, .context = &run};
    run.limits = pl_limits_new(&path);
    CHECK(run.limits);
    for (int i = 0; i < 3; i++) {
        send(&run, 0, false);
        acknowledge(&run, RTT_NS, MSS, false);
    }
    send(&run, 0, false);
    run.mode = PL_MODE_FAST;
    send(&run, 200 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_EMULATOR_LATE], 40 + 200);
    CHECK_EQ(run.rows[0].cause, PL_LIMIT_EMULATOR_LATE);
}

int main(void)
{
    RUN(a_full_window_is_the_receivers);
    RUN(a_window_of_zero_is_closed);
    RUN(silence_with_room_is_the_application);
    RUN(a_pause_far_shorter_than_a_round_trip_is_the_application);
    RUN(silence_shorter_than_the_queue_is_not_the_send_buffer);
    RUN(gaps_with_nothing_outstanding_are_the_application);
    RUN(a_wait_that_an_acknowledgement_ends_is_the_send_buffer);
    RUN(a_burst_that_an_acknowledgement_sets_off_is_the_send_buffer);
    RUN(silences_that_end_with_as_much_in_flight_are_the_send_buffer);
    RUN(silences_that_no_acknowledgement_ends_are_the_application);
    RUN(the_wait_for_a_request_between_two_full_buffers_is_the_application);
    RUN(silence_in_an_outage_is_neither_the_application_nor_the_paths_rate);
    RUN(a_path_that_is_down_is_the_limit_until_a_packet_passes);
    RUN(a_path_that_is_up_again_leaves_the_wait_for_the_time_out);
    RUN(a_path_that_takes_the_acknowledgement_of_a_time_out_is_down_still);
    RUN(silence_until_the_flight_has_shrunk_is_that_of_the_marks);
    RUN(a_flight_that_still_shrinks_for_marks_leaves_the_program_nothing_to_do);
    RUN(recoveries_begin_and_end_where_they_do);
    RUN(a_window_that_has_room_again_is_not_what_is_awaited_behind_it);
    RUN(a_pace_behind_a_recovery_is_not_the_window_before_it);
    RUN(a_few_octets_outstanding_leave_the_congestion_window_room);
    RUN(the_wait_for_a_probe_is_neither_the_application_nor_a_time_out);
    RUN(the_wait_for_the_answer_to_a_probe_is_part_of_the_recovery);
    RUN(a_probe_without_an_answer_ends_in_the_time_out);
    RUN(a_box_that_was_late_for_most_of_a_gap_is_the_limit);
    return 0;
}
