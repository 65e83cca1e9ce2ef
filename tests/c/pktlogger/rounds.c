/* Limits of a sender that its gaps do not show by themselves, but its rounds do. */
#include "limited_sender.h"

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

/* A program sends a short greeting, and sends its data when the greeting is answered. */
static void slow_start_is_that_of_the_data_behind_a_greeting(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 1);
    for (int packets = 10; packets <= 80; packets *= 2)
        burst(&run, packets);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SLOW_START] >= 159 && ms[PL_LIMIT_SLOW_START] <= 161);
}

/* Not in a capture that begins in mid-connection: a loss before it may have reduced the congestion window. */
static void a_flight_that_stands_still_is_the_send_buffer(void)
{
    for (int middle = 0; middle < 2; middle++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin_as(&run, (struct pl_limits_path){.middle = middle});
        burst(&run, 10);
        burst(&run, 20);
        for (int round = 0; round < 10; round++)
            burst(&run, 40);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER] >= 359, !middle); /* all rounds except those in which the flight grew */
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], middle ? 0 : ms[PL_LIMIT_SEND_BUFFER]);
    }
}

/* Packets that leave at once count as one gap. A program that writes so many packets once per round trip has only one
 * gap, which is therefore even, as for a paced sender. But a single gap shows nothing. */
static void packets_that_leave_together_are_no_pace(void)
{
    for (int apart = 0; apart < 2; apart++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin(&run);
        for (int round = 0; round < 12; round++) {
            int packets = round % 2 ? 8 : 10;
            for (int i = 0; i < packets; i++)
                send(&run, apart ? 4 * MS : i ? 0 : MS / 3, false);
            run.now_ns += apart ? 0 : RTT_NS;
            for (int i = 0; i < packets; i++)
                acknowledge(&run, MS / 5, MSS, false);
        }
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PACING] > 0, apart);
    }
}

/* A client that sends its next request when the response has come: its flight is steady, too. */
static void a_program_that_waits_for_answers_is_the_application(void)
{
    for (int packets = 1; packets <= 64; packets *= 8) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin(&run);
        run.answer = true;
        for (int exchange = 0; exchange < 10; exchange++)
            burst(&run, packets);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
        CHECK(ms[PL_LIMIT_APPLICATION] >= 10 * 39);
    }
}

/* Data go both ways at once: data of the peer do not answer data that are still outstanding. */
static void a_peer_that_sends_at_the_same_time_leaves_a_full_buffer_the_limit(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    run.answer = true;
    for (int i = 0; i < 40; i++)
        send(&run, 1000, false);
    acknowledge(&run, RTT_NS - 40 * 1000, MSS, false);
    for (int i = 0; i < 400; i++) {
        send(&run, 1000, false);
        acknowledge(&run, i % 40 ? 1000 : RTT_NS - 39 * 1000, MSS, false);
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 250);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* Super-packets of 20 segments: a window with room for 10 more segments holds the next super-packet back. */
static void a_window_without_room_for_another_super_packet_is_the_receivers(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    run.window = 130 * MSS;
    run.len = 20 * MSS;
    burst(&run, 1);
    burst(&run, 3);
    for (int round = 0; round < 10; round++)
        burst(&run, 6);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK(ms[PL_LIMIT_RECEIVER_WINDOW] >= 359);
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

/* The far leg of a relay. Two packets reach the relay one after the other and are passed on at once. The receiver,
 * which is near, acknowledges the second one. If a buffer or a window were the limit, packets would leave when
 * acknowledgements come. */
static void few_packets_that_no_acknowledgement_sets_off_are_the_programs(void)
{
    for (int packets = 1; packets <= 3; packets++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin(&run);
        burst(&run, 10);
        for (int round = 0; round < 100; round++) {
            for (int i = 0; i < packets; i++)
                send(&run, MS, false);
            acknowledge(&run, 10000, run.high - run.una, false);
        }
        send(&run, MS, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
        CHECK(ms[PL_LIMIT_APPLICATION] >= 99 * packets);
    }
}

/* Each burst is as large as the previous one because the application writes the same amount each time. */
static void a_flight_that_stands_still_between_pauses_is_no_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 20; i++)
            send(&run, i % 2 ? 1000 : round && i == 0 ? 20 * MS : 3 * MS, false);
        acknowledge(&run, RTT_NS, run.high - run.una, false);
    }
    send(&run, 20 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 10 * 60);
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

/* Bursts of 40 and 43 packets alternate, one RTT of 40 ms apart. The first burst meets a queue. */
static int64_t path_rate_ms(int64_t segment_ns, int64_t first_queue_ns)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_behind(&run, segment_ns);
    run.queue_ns = first_queue_ns;
    burst(&run, 40);
    run.queue_ns = 0;
    for (int round = 0; round < 10; round++)
        burst(&run, round % 2 ? 40 : 43);
    send(&run, 1000, false);
    end(&run, ms);
    return ms[PL_LIMIT_PATH_RATE];
}

static void a_line_that_is_busy_all_the_time_is_the_paths_rate_without_a_queue(void)
{
    CHECK(path_rate_ms(MS, 20 * MS) >= 11 * 40 - 1);
    CHECK(path_rate_ms(9 * MS / 10, 20 * MS) <= 40);
}

/* without a queue, the apparent rate of the bottleneck is the sender's own */
static void a_line_at_which_no_queue_ever_stood_is_no_limit(void)
{
    CHECK_EQ(path_rate_ms(MS, 0), 0);
}

/* When the first retransmission reaches the queue, it is empty. */
static void a_queue_until_a_loss_is_the_paths_rate(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_with_a_queue(&run);
    run.queue_ns = 0;
    run.mode = PL_MODE_FAST;
    send(&run, 10 * MS, false);
    acknowledge(&run, 40 * MS, run.high - run.una, true);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_PATH_RATE] >= QUEUE_MS + 10 - 1);
    CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 40);
    CHECK_EQ(ms[PL_LIMIT_CONGESTION_AVOIDANCE], 0);
}

/* A flight that is steady because ECN marks keep it low. */
static void a_flight_that_marks_hold_down_is_no_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    burst(&run, 20);
    for (int round = 0; round < 10; round++) {
        run.reduced = round == 0;
        burst(&run, 40);
    }
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK(ms[PL_LIMIT_ECN] >= 399);
}

/* A capture begins in mid-connection. A packet is always outstanding, but for one moment where the queue `drained`.
 * Without that a queue may have been standing all the time, and marks come from a queue. */
static void marks_of_a_queue_that_may_stand_do_not_show_the_limit(void)
{
    for (int drained = 0; drained < 2; drained++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        begin_as(&run, (struct pl_limits_path){.middle = true, .shown_from_ns = 1});
        send(&run, 1, false);
        for (int round = 0; round < 12; round++) {
            run.reduced = round == 1;
            for (int i = 0; i < 10; i++)
                send(&run, 1000, false);
            acknowledge(&run, RTT_NS - 10000, run.high - run.una - (round || !drained ? MSS : 0), false);
        }
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_ECN] >= 9 * 40, drained);
        CHECK_EQ(ms[PL_LIMIT_CONGESTION_AVOIDANCE] >= 9 * 40, !drained);
    }
}

/* The congestion window is congestion avoidance's again when a loss has reduced it last. */
static void a_loss_after_the_marks_makes_it_congestion_avoidance(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    run.reduced = true;
    for (int round = 0; round < 4; round++)
        burst(&run, 20 + round);
    run.mode = PL_MODE_FAST;
    send(&run, 1000, false);
    acknowledge(&run, RTT_NS, run.high - run.una, true);
    for (int round = 0; round < 4; round++)
        burst(&run, 20 + round);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_ECN] >= 159 && ms[PL_LIMIT_ECN] <= 161);
    CHECK(ms[PL_LIMIT_CONGESTION_AVOIDANCE] >= 159);
}

/* Another flow keeps a queue standing. Then this flow begins, and sends a tenth of the bottleneck's rate. */
static void slow_start_into_the_queue_of_others_is_slow_start(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_behind(&run, MS / 20);
    run.queue_ns = 20 * MS;
    for (int packets = 10; packets <= 80; packets *= 2)
        burst(&run, packets);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SLOW_START] >= 159 && ms[PL_LIMIT_SLOW_START] <= 161);
}

/* Another flow keeps a queue standing, so each packet meets one. But the program's own limit is below its share of the
 * line. */
static void at_the_rate_that_the_program_allows_it_is_pacing_whatever_queue_there_is(void)
{
    static const struct {
        uint64_t pace_bytes_per_s;
        enum pl_limit_cause cause;
    } cases[] = {{1000 * MSS, PL_LIMIT_PACING},    /* one packet per millisecond, the rate that is sent */
                 {1200 * MSS, PL_LIMIT_PATH_RATE}, /* the program allows more than is sent */
                 {INT64_MAX, PL_LIMIT_PATH_RATE},  /* no limit */
                 {0, PL_LIMIT_PATH_RATE}};         /* not known */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        const struct pl_send_sample sample = {.t_ns = 1, .pace_bytes_per_s = cases[i].pace_bytes_per_s};
        begin_as(&run, (struct pl_limits_path){.samples = {.first = &sample, .n = 1}});
        run.queue_ns = 20 * MS;
        for (int n = 0; n < 40; n++)
            send(&run, MS, false);
        for (int n = 0; n < 400; n++) {
            acknowledge(&run, MS / 2, MSS, false);
            send(&run, MS / 2, false);
        }
        end(&run, ms);
        CHECK(ms[cases[i].cause] >= 350);
    }
}

/* A program sends its next message after 3 ms. Less than a segment is in flight, so the congestion window has room. */
static void less_than_a_segment_in_flight_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin(&run);
    burst(&run, 10);
    burst(&run, 13);
    run.len = 50;
    send(&run, 0, false);
    run.len = 300;
    send(&run, 3 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 3);
    CHECK(ms[PL_LIMIT_CONGESTION_AVOIDANCE] <= 41);
}

int main(void)
{
    RUN(doubling_is_slow_start_and_one_more_is_not);
    RUN(slow_start_is_that_of_the_data_behind_a_greeting);
    RUN(a_flight_that_stands_still_is_the_send_buffer);
    RUN(packets_that_leave_together_are_no_pace);
    RUN(a_program_that_waits_for_answers_is_the_application);
    RUN(a_peer_that_sends_at_the_same_time_leaves_a_full_buffer_the_limit);
    RUN(a_window_without_room_for_another_super_packet_is_the_receivers);
    RUN(even_packets_that_no_acknowledgement_clocks_are_paced);
    RUN(few_packets_that_no_acknowledgement_sets_off_are_the_programs);
    RUN(a_flight_that_stands_still_between_pauses_is_no_send_buffer);
    RUN(a_segments_own_time_at_the_bottleneck_is_no_queue);
    RUN(a_queue_that_no_packet_misses_is_the_paths_rate);
    RUN(a_line_that_is_busy_all_the_time_is_the_paths_rate_without_a_queue);
    RUN(a_line_at_which_no_queue_ever_stood_is_no_limit);
    RUN(a_queue_until_a_loss_is_the_paths_rate);
    RUN(a_flight_that_marks_hold_down_is_no_send_buffer);
    RUN(marks_of_a_queue_that_may_stand_do_not_show_the_limit);
    RUN(a_loss_after_the_marks_makes_it_congestion_avoidance);
    RUN(slow_start_into_the_queue_of_others_is_slow_start);
    RUN(at_the_rate_that_the_program_allows_it_is_pacing_whatever_queue_there_is);
    RUN(less_than_a_segment_in_flight_is_the_application);
    return 0;
}
