/* Evidence from the program, the kernel and the box's record counts more than the pattern of a sender's packets. */
#include "evidence.h"

#include "limited_sender.h"

enum { SAMPLES = 512, SNDBUF = 300000 };

/* A sample every millisecond, of a sender that nothing paces and that has much unsent data. */
static struct pl_samples_of alike(struct pl_send_sample samples[SAMPLES], enum pl_control control)
{
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (struct pl_send_sample){.t_ns = i * MS,
                                             .notsent_bytes = 20 * MSS,
                                             .pace_bytes_per_s = INT64_MAX,
                                             .cwnd = 40,
                                             .ssthresh = PL_SSTHRESH_FIRST,
                                             .counted_us = {PL_NOT_COUNTED, PL_NOT_COUNTED},
                                             .control = (uint8_t)control};
    return (struct pl_samples_of){.first = samples, .n = SAMPLES};
}

static void a_counter_answers_where_it_cannot_be_otherwise(void)
{
    static const struct pl_send_sample list[] = {{.t_ns = 10 * MS, .counted_us = {4000, 0}},
                                                 {.t_ns = 20 * MS, .counted_us = {4000, 0}},
                                                 {.t_ns = 30 * MS, .counted_us = {14000, 0}},
                                                 {.t_ns = 40 * MS, .counted_us = {18000, PL_NOT_COUNTED}}};
    const struct pl_samples_of of = {.first = list, .n = 4};
    static const struct {
        int64_t t0_ms, t1_ms;
        enum pl_answer answer;
    } rows[] = {
        {11, 19, PL_NO},      {10, 20, PL_NO},      {22, 23, PL_YES},
        {20, 30, PL_YES},     {10, 30, PL_UNKNOWN},                     /* half */
        {31, 34, PL_UNKNOWN},                                           /* 3 of 4 ms, or none */
        {12, 28, PL_UNKNOWN}, {30, 40, PL_NO},      {1, 9, PL_UNKNOWN}, /* 4 of 8 ms, or none */
        {1, 10, PL_NO},       {35, 50, PL_UNKNOWN},                     /* nothing is known after the last sample */
        {15, 33, PL_YES},     {15, 36, PL_UNKNOWN}, /* 10 ms of 18, or of 21 (two samples in the span) */
        {21, 31, PL_YES},     {13, 28, PL_YES},     /* 9 ms of 10, and 8 of 15 (one sample in the span, one near it) */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_EQ(pl_samples_counted(&of, PL_RWND_LIMITED, rows[i].t0_ms * MS, rows[i].t1_ms * MS), rows[i].answer);
    CHECK_EQ(pl_samples_counted(&of, PL_SNDBUF_LIMITED, 12 * MS, 18 * MS), PL_NO);
    CHECK_EQ(pl_samples_counted(&of, PL_SNDBUF_LIMITED, 32 * MS, 38 * MS), PL_UNKNOWN);
}

/* For a paced sender the counter of the receiver's window does not advance while the congestion window is full, because
 * Linux checks the congestion window first. If the congestion window has room, pacing may be the reason. */
static void a_full_congestion_window_lets_the_windows_counter_decide(void)
{
    static const enum pl_answer window[] = {PL_UNKNOWN, PL_NO};
    for (int filled = 0; filled < 2; filled++) {
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].pace_bytes_per_s = 100 * MSS;
            samples[i].unacked = filled ? 40 : 20;
            samples[i].window = OPEN_WINDOW;
            samples[i].counted_us[PL_RWND_LIMITED] = 5000;
        }
        struct pl_evidence known = pl_evidence_over(&of, 100 * MS, 120 * MS, MSS);
        CHECK_EQ(pl_filled(&known), filled);
        CHECK_EQ(known.window, window[filled]);
    }
}

/* A program on a slow processor. It says that it has more to give, and always has data. Yet both windows and the buffer
 * have room, and less than a segment is unsent. */
static void a_program_that_leaves_windows_and_buffer_unused_is_the_limit(void)
{
    static const struct {
        uint32_t unacked, window, queued, notsent;
        bool late;
    } rows[] = {{30, OPEN_WINDOW, SNDBUF / 3, MSS / 2, true},
                {40, OPEN_WINDOW, SNDBUF / 3, MSS / 2, false},  /* the congestion window is full */
                {30, 30 * MSS, SNDBUF / 3, MSS / 2, false},     /* the peer's */
                {30, OPEN_WINDOW, SNDBUF, MSS / 2, false},      /* the buffer */
                {30, OPEN_WINDOW, SNDBUF / 3, 2 * MSS, false}}; /* the program is not the reason that 2 segments wait */
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].unacked = rows[row].unacked;
            samples[i].window = rows[row].window;
            samples[i].queued_bytes = rows[row].queued;
            samples[i].sndbuf_bytes = SNDBUF;
            samples[i].notsent_bytes = rows[row].notsent;
            samples[i].waits = PL_YES;
        }
        of.always = PL_YES;
        begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = true});
        for (int n = 0; n < 40; n++)
            send(&run, MS, false);
        for (int n = 0; n < 400; n++) {
            acknowledge(&run, MS / 2, MSS, false);
            send(&run, MS / 2, false);
        }
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION] >= 350, rows[row].late);
    }
}

static void controls_are_known_by_their_names(void)
{
    CHECK_EQ(pl_control_named("cubic", 5), PL_CONTROL_WINDOW);
    CHECK_EQ(pl_control_named("dctcp-reno", 10), PL_CONTROL_WINDOW);
    CHECK_EQ(pl_control_named("bbr", 3), PL_CONTROL_RATE);
    CHECK_EQ(pl_control_named("bb", 2), PL_CONTROL_UNKNOWN);
    CHECK_EQ(pl_control_named("", 0), PL_CONTROL_UNKNOWN);
}

/* A short transfer. The program writes everything within the first millisecond, into a buffer that this fills.
 * Everything is sent in two rounds. In the second round the receiver acknowledges late, and then the last packets are
 * lost. */
static void a_program_that_has_written_all_waits_for_no_room(void)
{
    for (int always = 0; always < 2; always++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].notsent_bytes = i < 40 ? 20 * MSS : MSS / 2;
            samples[i].queued_bytes = samples[i].sndbuf_bytes = SNDBUF;
        }
        of.written_ns = MS;
        begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = always, .data_end = 1 + 60 * MSS});
        burst(&run, 20);
        for (int i = 0; i < 20; i++)
            send(&run, 1000, false);
        acknowledge(&run, MS, MSS, false);
        send(&run, 12 * MS, false);
        for (int i = 1; i < 20; i++)
            send(&run, 1000, false);
        run.mode = PL_MODE_FAST;
        resend(&run, RTT_NS + 5 * MS);
        acknowledge(&run, RTT_NS, run.high - run.una, true);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
        CHECK_EQ(ms[PL_LIMIT_FAST_RECOVERY], 45); /* from the time when everything had been sent until the repair */
        CHECK(ms[PL_LIMIT_SLOW_START] >= 52);
    }
}

/* A program fills the window except for less than a segment, and pauses. */
static void a_full_window_for_which_nothing_waited_is_not_the_limit(void)
{
    for (int waited = 0; waited < 2; waited++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].notsent_bytes = waited && i % 60 < 40 ? 20 * MSS : 0;
            samples[i].counted_us[PL_RWND_LIMITED] =
                waited ? (uint64_t)(i / 60 * 40 + (i % 60 < 40 ? i % 60 : 40)) * 1000 : 3000;
            samples[i].sndbuf_bytes = SNDBUF;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of});
        run.window = 20 * MSS + 500;
        for (int round = 0; round < 6; round++) {
            run.now_ns = round * 60 * MS;
            burst(&run, 20);
        }
        run.now_ns = 360 * MS;
        send(&run, 0, false);
        end(&run, ms);
        CHECK(ms[PL_LIMIT_RECEIVER_WINDOW] >= (waited ? 6 * 38 : 0));
        CHECK(ms[PL_LIMIT_RECEIVER_WINDOW] <= (waited ? 6 * 41 : 0));
        CHECK(ms[PL_LIMIT_APPLICATION] >= (waited ? 6 * 19 : 6 * 59));
    }
}

/* The window has room for a segment, but the kernel waits for more room (tcp_tso_should_defer). */
static void a_window_that_the_kernel_counts_is_the_limit_although_it_has_room(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].counted_us[PL_RWND_LIMITED] = (uint64_t)i * 1000;
    begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = true});
    run.window = 25 * MSS;
    for (int round = 0; round < 8; round++)
        burst(&run, 20 + round % 2);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_RECEIVER_WINDOW] >= 8 * 38);
}

/* Evenly spaced packets that no acknowledgement triggered. The acknowledgements of a window may be evenly spaced by
 * chance. */
static void what_nothing_paces_is_not_paced(void)
{
    const int64_t LATER = 10000 * MS;
    const struct {
        enum pl_control control;
        uint64_t pace;
        bool always, unsent, paced, sized;
        int64_t late_ns; /* of the first sample */
    } rows[] = {
        {PL_CONTROL_WINDOW, INT64_MAX, true, true, false, false, 0},
        {PL_CONTROL_RATE, INT64_MAX, true, true, true, false, 0},
        {PL_CONTROL_UNKNOWN, INT64_MAX, true, true, true, false, 0},
        {PL_CONTROL_WINDOW, INT64_MAX / 2, true, true, true, false, 0},
        {PL_CONTROL_WINDOW, INT64_MAX, false, true, false, false, 0},    /* the program has written more than is sent */
        {PL_CONTROL_WINDOW, INT64_MAX, false, false, true, false, 0},    /* the program may pace itself */
        {PL_CONTROL_WINDOW, INT64_MAX, false, false, false, true, 0},    /* the program has written no more, and does
                                                                          * not pace itself */
        {PL_CONTROL_WINDOW, 0, true, true, true, false, 0},              /* not known */
        {PL_CONTROL_WINDOW, INT64_MAX, true, true, false, false, LATER}, /* judged by the first sample */
        {PL_CONTROL_WINDOW, INT64_MAX, false, false, false, true, LATER},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, rows[row].control);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].pace_bytes_per_s = rows[row].pace;
            samples[i].notsent_bytes = rows[row].unsent ? 20 * MSS : 0;
            samples[i].sndbuf_bytes = rows[row].sized ? SNDBUF : 0;
            samples[i].t_ns += rows[row].late_ns;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = rows[row].always});
        for (int i = 0; i < 400; i++) {
            send(&run, MS / 2, false);
            if (i >= 40)
                acknowledge(&run, MS / 2, MSS, false);
            else
                run.now_ns += MS / 2;
        }
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PACING] >= 300, rows[row].paced);
        CHECK_EQ(ms[PL_LIMIT_PACING] > 0, rows[row].paced);
    }
}

/* One to three packets per round trip, at the rate that the program allows, or with any rate allowed. */
static void few_packets_at_the_programs_rate_are_paced(void)
{
    for (int packets = 1; packets <= 3; packets++)
        for (int full = 0; full < 2; full++) {
            struct run run;
            int64_t ms[PL_LIMIT_N];
            struct pl_send_sample samples[SAMPLES];
            struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
            int64_t gap_ns = RTT_NS / packets;
            for (int i = 0; i < SAMPLES; i++)
                samples[i].pace_bytes_per_s = full ? (uint64_t)(1e9 * MSS / (double)gap_ns) : INT64_MAX;
            begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = true});
            for (int i = 0; i < 10 * packets; i++) {
                send(&run, gap_ns / 2, false);
                acknowledge(&run, gap_ns / 2, i < packets ? 0 : MSS, false);
            }
            end(&run, ms);
            CHECK_EQ(ms[PL_LIMIT_PACING] >= 7 * 40, full);
            CHECK_EQ(ms[PL_LIMIT_PACING] > 0, full);
        }
}

/* A program with a rate limit writes 16 packets now and then. A round includes the wait for the next packets, so its
 * average rate is below the limit. But both windows have room for the unsent data. */
static void what_both_windows_have_room_for_awaits_the_programs_rate(void)
{
    static const struct {
        uint32_t unacked, window;
        uint64_t pace;
        bool paced;
    } rows[] = {{2, OPEN_WINDOW, 500000, true},
                {0, OPEN_WINDOW, 500000, true},
                {40, OPEN_WINDOW, 500000, false},            /* the congestion window is full */
                {2, 2 * MSS, 500000, false},                 /* the peer's */
                {26, OPEN_WINDOW, 500000, true},             /* both windows have room: cwnd for more than a third of
                                                              * itself */
                {27, OPEN_WINDOW, 500000, false},            /* cwnd has room for less than a third of itself: a
                                                              * super-packet waits */
                {PL_NO_UNACKED, OPEN_WINDOW, 500000, false}, /* not known */
                {2, OPEN_WINDOW, INT64_MAX, false}};         /* it allows any rate */
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].unacked = rows[row].unacked;
            samples[i].window = rows[row].window;
            samples[i].pace_bytes_per_s = rows[row].pace;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of});
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 4; i++)
                send(&run, 3 * MS, false);
            acknowledge(&run, RTT_NS, 4 * MSS, false);
        }
        send(&run, MS, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PACING] >= 300, rows[row].paced);
        CHECK_EQ(ms[PL_LIMIT_PACING] > 0, rows[row].paced);
    }
}

/* A program has nothing to send during a recovery, and much to send after it, at the rate that BBR sets. */
static void what_a_program_had_in_a_recovery_does_not_count_behind_it(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, PL_CONTROL_RATE);
    for (int i = 0; i < SAMPLES; i++) {
        bool recovers = i < 242;
        samples[i].notsent_bytes = recovers ? 0 : 20 * MSS;
        samples[i].waits = recovers ? PL_NO : PL_YES;
        samples[i].window = OPEN_WINDOW;
    }
    begin_as(&run, (struct pl_limits_path){.samples = of});
    send(&run, 0, false);
    run.mode = PL_MODE_TIMEOUT;
    send(&run, 140 * MS, true);
    acknowledge(&run, 102 * MS, run.high - run.una, true);
    send(&run, 60 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
    CHECK_EQ(ms[PL_LIMIT_PACING], 60);
}

/* Every packet waits in the box, and the line is busy for a third of the time, or all of it. */
static void a_queue_at_a_line_that_was_idle_is_not_the_paths_rate(void)
{
    for (int busy = 0; busy < 2; busy++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_time_span spans[20];
        const struct pl_time_spans line = {.list = {.at = spans, .n = 20}};
        for (int i = 0; i < 20; i++)
            spans[i] = (struct pl_time_span){i * RTT_NS, i * RTT_NS + (busy ? RTT_NS : RTT_NS / 3)};
        begin_as(&run, (struct pl_limits_path){.busy = &line});
        run.queue_ns = run.line_ns = 2 * MS;
        for (int round = 0; round < 10; round++)
            burst(&run, 40 + round);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PATH_RATE] >= 399, busy);
        CHECK_EQ(ms[PL_LIMIT_PATH_RATE] > 0, busy);
    }
}

/* How long the path's rate was the limit, and for how much of this time the line was busy. */
struct path_time {
    const struct pl_time_spans *busy;
    size_t at;
    int64_t ns, worked_ns;
};

static void sum_path_rate(void *context, const struct pl_limit *row)
{
    struct path_time *sum = context;
    if (row->cause != PL_LIMIT_PATH_RATE)
        return;
    sum->ns += row->t1_ns - row->t0_ns;
    sum->worked_ns += pl_time_spans_cover(sum->busy, &sum->at, row->t0_ns, row->t1_ns);
}

static uint32_t draw(uint32_t *state, uint32_t most)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % most;
}

/* Random packets, acknowledgements, queues and recoveries, and a line that is busy and idle at random times. While the
 * path's rate is the limit, the line must be busy, apart from the idle share that a row may have. If the line is always
 * busy, most of these senders are limited by its rate for some time. */
static void the_paths_rate_is_never_the_limit_while_the_line_rests(void)
{
    enum { SENDERS = 300, SPANS = 400 };
    int limited = 0;
    for (uint32_t seed = 0; seed < SENDERS; seed++) {
        uint32_t state = seed;
        struct pl_time_span spans[SPANS];
        const struct pl_time_spans line = {.list = {.at = spans, .n = SPANS}};
        struct path_time sum = {.busy = &line};
        bool rests = seed % 4 > 0;
        int64_t t_ns = 0;
        for (int i = 0; i < SPANS; i++) {
            t_ns += rests ? draw(&state, 10) * MS : 0;
            spans[i] = (struct pl_time_span){t_ns, t_ns + (1 + draw(&state, 40)) * MS};
            t_ns = spans[i].t1_ns;
        }
        struct run run = {.gap = pl_gap_none(MSS), .una = 1, .high = 1, .window = OPEN_WINDOW};
        run.limits = pl_limits_new(&(struct pl_limits_path){.mss = MSS,
                                                            .min_rtt_ns = RTT_NS,
                                                            .segment_ns = MS,
                                                            .busy = &line,
                                                            .line_known = true,
                                                            .line_alone = true,
                                                            .sink = sum_path_rate,
                                                            .context = &sum});
        CHECK(run.limits);
        for (int i = 0; i < 1500; i++) {
            run.queue_ns = run.line_ns = draw(&state, 8) ? 5 * MS : 0;
            if (draw(&state, 200) == 0)
                run.mode = PL_MODE_FAST;
            resend(&run, draw(&state, 2) * MS);
            send_as(&run, 0, false, false);
            if (run.high - run.una > 30 * MSS)
                acknowledge(&run, draw(&state, 3) * MS, 1 + draw(&state, 3) * MSS, run.mode == PL_MODE_FAST);
        }
        pl_limits_end(run.limits, &run.gap);
        pl_limits_free(run.limits);
        limited += sum.ns > 0 && !rests;
        if ((double)sum.worked_ns < 0.95 * (double)sum.ns - (double)MS)
            fprintf(stderr, "seed %u: %lld ns by the path's rate, of which the line worked for %lld\n", seed,
                    (long long)sum.ns, (long long)sum.worked_ns);
        CHECK((double)sum.worked_ns >= 0.95 * (double)sum.ns - (double)MS);
    }
    CHECK(limited > SENDERS / 8);
}

/* Other traffic uses the line while the program has nothing to send. So the line was busy for nearly all of each round,
 * but not while this sender sent. */
static void a_line_that_rests_while_packets_leave_is_not_their_limit(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_time_span spans[20];
    const struct pl_time_spans line = {.list = {.at = spans, .n = 20}};
    for (int i = 0; i < 20; i++)
        spans[i] = (struct pl_time_span){(60 * i + 2) * MS, 60 * (i + 1) * MS};
    begin_as(&run, (struct pl_limits_path){.busy = &line, .line_known = true, .line_alone = true, .segment_ns = MS});
    run.queue_ns = run.line_ns = 5 * MS;
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 3; i++)
            send(&run, i ? MS : 0, false);
        acknowledge(&run, 0, run.high - run.una, false);
        run.now_ns += 58 * MS;
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 19 * 58);
    CHECK_EQ(ms[PL_LIMIT_PATH_RATE], 0);
}

/* By the amount of data, each round would keep the line busy. By the record, the line was busy for two thirds of the
 * time. No queue existed, or it is not known whether one did. */
static void a_line_that_rests_is_not_the_limit_without_a_queue_either(void)
{
    for (int rests = 0; rests < 2; rests++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_time_span spans[20];
        const struct pl_time_spans line = {.list = {.at = spans, .n = 20}};
        for (int i = 0; i < 20; i++)
            spans[i] = (struct pl_time_span){i * RTT_NS, i * RTT_NS + (rests ? RTT_NS * 2 / 3 : RTT_NS)};
        begin_as(&run,
                 (struct pl_limits_path){.busy = &line, .line_known = true, .line_alone = true, .segment_ns = MS});
        run.queue_ns = run.line_ns = -1;
        for (int round = 0; round < 10; round++)
            burst(&run, 40 + round);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PATH_RATE] >= 320, !rests);
        CHECK_EQ(ms[PL_LIMIT_PATH_RATE] > 0, !rests);
    }
}

/* A program writes as much per round trip as the line carries, or a little more. Then it has nothing more to give, or
 * much more. */
static void a_line_that_a_programs_bursts_keep_at_work_is_not_their_limit(void)
{
    for (int more = 0; more < 2; more++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].notsent_bytes = more ? 20 * MSS : 0;
            samples[i].waits = more ? PL_YES : PL_NO;
            samples[i].ssthresh = 20;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of, .segment_ns = MS, .line_known = true});
        for (int round = 0; round < 10; round++)
            burst(&run, 40 + round);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PATH_RATE] >= 360, more);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION] >= 360, !more);
    }
}

/* The record does not show queues elsewhere, such as a gateway's queue. */
static void a_queue_elsewhere_is_not_judged_by_the_boxs_line(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_time_span span = {0, MS};
    const struct pl_time_spans line = {.list = {.at = &span, .n = 1}};
    begin_as(&run, (struct pl_limits_path){.busy = &line});
    run.queue_ns = 20 * MS;
    run.line_ns = 0;
    for (int round = 0; round < 10; round++)
        burst(&run, 40 + round);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_PATH_RATE] >= 399);
}

/* Rounds that grow by a fifth. The window is below ssthresh, or has reached it. BBR does not change ssthresh. */
static void the_kernel_says_whether_slow_start_goes_on(void)
{
    static const struct {
        enum pl_control control;
        uint32_t ssthresh;
        uint8_t ca_state;
        enum pl_limit_cause cause;
    } rows[] = {
        {PL_CONTROL_WINDOW, PL_SSTHRESH_FIRST, 0, PL_LIMIT_SLOW_START},
        {PL_CONTROL_WINDOW, 41, 0, PL_LIMIT_SLOW_START},
        {PL_CONTROL_WINDOW, 40, 0, PL_LIMIT_CONGESTION_AVOIDANCE},
        {PL_CONTROL_WINDOW, 41, 2, PL_LIMIT_CONGESTION_AVOIDANCE}, /* it shrinks to ssthresh */
        {PL_CONTROL_WINDOW, 41, 4, PL_LIMIT_SLOW_START},           /* after a time-out */
        {PL_CONTROL_RATE, PL_SSTHRESH_FIRST, 0, PL_LIMIT_CONGESTION_AVOIDANCE},
        {PL_CONTROL_UNKNOWN, PL_SSTHRESH_FIRST, 0, PL_LIMIT_CONGESTION_AVOIDANCE}, /* by its growth */
        {PL_CONTROL_UNKNOWN, 41, 0, PL_LIMIT_SLOW_START},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, rows[row].control);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].ssthresh = rows[row].ssthresh;
            samples[i].ca_state = rows[row].ca_state;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = true});
        burst(&run, 10);
        for (int round = 0, packets = 10; round < 8; round++, packets += packets / 5)
            burst(&run, packets);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK(ms[rows[row].cause] >= 8 * 40 - 1);
    }
}

/* A flight that is steady because the send buffer is full is not slow start, however large ssthresh is. */
static void a_full_send_buffer_is_the_limit_before_any_loss(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i].notsent_bytes = 0;
        samples[i].queued_bytes = samples[i].sndbuf_bytes = SNDBUF;
    }
    begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = true});
    burst(&run, 10);
    burst(&run, 20);
    for (int round = 0; round < 8; round++)
        burst(&run, 40);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 7 * 40 - 1);
}

/* A program that reports how much it still has to write. */
static struct pl_samples_of saying(struct pl_send_sample samples[SAMPLES], enum pl_answer waits, uint32_t queued,
                                   uint32_t notsent)
{
    struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i].notsent_bytes = notsent;
        samples[i].queued_bytes = queued;
        samples[i].sndbuf_bytes = SNDBUF;
        samples[i].waits = (uint8_t)waits;
    }
    return of;
}

/* A program writes its data every 60 ms. Packets and buffer look the same whether it waits for room or has no more
 * data. Only its own account distinguishes the two cases. */
static void a_program_says_whether_it_waits_for_room(void)
{
    static const struct {
        enum pl_answer waits;
        uint32_t queued, notsent;
        bool counts; /* by the kernel's counter the writer waits; the kernel leaves that flag set for a while */
        bool buffer, application;
    } rows[] = {
        {PL_NO, SNDBUF, 0, false, false, true},      {PL_NO, SNDBUF, 0, true, false, true},
        {PL_NO, SNDBUF, 1, false, false, false}, /* one octet is unsent and counts, although it is less than a
                                                  * segment */
        {PL_YES, SNDBUF, 0, false, true, false},     {PL_YES, SNDBUF, 0, true, true, false},
        {PL_YES, 0, 0, false, false, false}, /* there is room and the program has more to give, so it will soon give
                                              * it */
        {PL_UNKNOWN, SNDBUF, 0, false, true, false}, {PL_UNKNOWN, 0, 0, false, false, true},
        {PL_UNKNOWN, SNDBUF, 1, false, true, false},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = saying(samples, rows[row].waits, rows[row].queued, rows[row].notsent);
        for (int i = 0; i < SAMPLES; i++)
            samples[i].counted_us[PL_SNDBUF_LIMITED] = rows[row].counts ? (uint64_t)i * 1000 : PL_NOT_COUNTED;
        begin_as(&run, (struct pl_limits_path){.samples = of});
        for (int message = 0; message < 5; message++) {
            for (int i = 0; i < 20; i++)
                send(&run, i ? 1000 : 30 * MS, false);
            acknowledge(&run, 30 * MS, 20 * MSS, false);
        }
        send(&run, 30 * MS, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER] >= 5 * 59, rows[row].buffer);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER] > 0, rows[row].buffer);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION] >= 5 * 59, rows[row].application);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION] > 0, rows[row].application);
    }
}

/* The flight doubles, and its packets leave evenly. But the buffer was full all the time, and everything in it had been
 * sent. */
static void a_spent_buffer_is_neither_slow_start_nor_pacing(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = saying(samples, PL_UNKNOWN, SNDBUF, 0)});
    for (int packets = 10; packets <= 40; packets *= 2) {
        for (int i = 0; i < packets; i++)
            send(&run, MS / 10, false);
        acknowledge(&run, RTT_NS - packets * MS / 10, (uint64_t)packets * MSS, false);
    }
    send(&run, MS / 10, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SLOW_START], 0);
    CHECK_EQ(ms[PL_LIMIT_PACING], 0);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 3 * 40 - 1);
}

/* Everything was written and sent, and 30 ms later an acknowledgement reports a lost packet. */
static void a_program_that_has_given_all_does_not_delay_a_repair(void)
{
    for (int silent = 0; silent < 2; silent++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        begin_as(&run, (struct pl_limits_path){.samples = saying(samples, PL_NO, SNDBUF, 0)});
        for (int i = 0; i < 20; i++)
            send(&run, 1000, false);
        acknowledge(&run, silent ? 10 * MS : 30 * MS, 10 * MSS, false);
        run.mode = PL_MODE_FAST;
        resend(&run, silent ? 20 * MS : 1000);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
        CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
        CHECK(ms[PL_LIMIT_FAST_RECOVERY] >= 30);
    }
}

/* The program gives 20 packets every 120 ms. A long queue delays their acknowledgements until the program has given the
 * next 20. */
static void a_program_that_has_given_all_awaits_no_acknowledgement(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = saying(samples, PL_NO, SNDBUF, 0)});
    for (int message = 0; message < 4; message++) {
        for (int i = 0; i < 20; i++)
            send(&run, i == 0 && message ? (message == 1 ? 119 : 109) * MS : 1000, false);
        if (message)
            acknowledge(&run, 10 * MS, 20 * MSS, false);
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 3 * 118);
}

/* A message is sent in 40 ms, one packet per acknowledgement, and its last octets are less than a segment. Then the
 * program waits twice as long for the peer. */
static void a_message_under_way_is_not_the_wait_behind_it(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = saying(samples, PL_NO, 0, 0);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].notsent_bytes = i % 160 < 80 ? MSS / 5 : 0;
    begin_as(&run, (struct pl_limits_path){.samples = of});
    for (int message = 0; message < 3; message++) {
        run.now_ns = message * 160 * MS;
        run.answer = true;
        acknowledge(&run, 0, 0, false);
        run.answer = false;
        for (int i = 0; i < 4; i++)
            send(&run, 0, false);
        for (int i = 0; i < 4; i++) {
            acknowledge(&run, i ? 10 * MS : 50 * MS, MSS, false);
            send(&run, 0, false);
        }
        acknowledge(&run, RTT_NS, run.high - run.una, false);
    }
    run.answer = true;
    acknowledge(&run, 40 * MS, 0, false);
    run.now_ns = 480 * MS;
    send(&run, 0, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 3 * 80);
}

/* A queue of other traffic delays acknowledgements, so each packet leaves before the previous one is acknowledged.
 * Either the program's rate limit allows one packet per 100 ms, or the program writes one per 100 ms. */
static void late_acknowledgements_leave_a_pace_or_the_program_the_limit(void)
{
    static const struct {
        uint64_t pace_bytes_per_s;
        uint32_t notsent;
        enum pl_limit_cause cause;
    } rows[] = {
        {10 * MSS, 5 * MSS, PL_LIMIT_PACING},
        {12 * MSS, 5 * MSS, PL_LIMIT_CONGESTION_AVOIDANCE}, /* it allows more */
        {INT64_MAX, 5 * MSS, PL_LIMIT_CONGESTION_AVOIDANCE},
        {INT64_MAX, MSS / 2, PL_LIMIT_APPLICATION},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].pace_bytes_per_s = rows[row].pace_bytes_per_s;
            samples[i].notsent_bytes = rows[row].notsent;
            samples[i].sndbuf_bytes = SNDBUF;
            samples[i].ssthresh = 4;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of});
        for (int i = 0; i < 4; i++) {
            send(&run, i ? 95 * MS : 0, false);
            acknowledge(&run, 5 * MS, i ? MSS : 0, false);
        }
        run.mode = PL_MODE_FAST;
        resend(&run, 95 * MS);
        end(&run, ms);
        CHECK_EQ(ms[rows[row].cause], 400);
    }
}

/* A program writes less than a segment every 100 ms, at its own rate. The previous packet is lost and therefore not
 * acknowledged, so Nagle's rule holds every second write back until the next write. */
static void what_is_left_of_a_programs_rate_awaits_its_pace(void)
{
    for (int paced = 0; paced < 2; paced++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = saying(samples, PL_NO, 0, 0);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].notsent_bytes = i % 200 < 100 ? 0 : MSS - 1;
            samples[i].unacked = 1;
            samples[i].cwnd = 10;
            samples[i].window = 100 * MSS;
            samples[i].pace_bytes_per_s = paced ? 10 * MSS : INT64_MAX;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of});
        send(&run, 0, false);
        send(&run, 195 * MS, false);
        run.mode = PL_MODE_FAST;
        resend(&run, MS);
        end(&run, ms);
        CHECK(ms[paced ? PL_LIMIT_PACING : PL_LIMIT_APPLICATION] >= 195);
    }
}

/* The whole first window leaves at once and is lost. By the time of a probe, the average rate has fallen to the
 * program's rate limit. But the kernel waits for the window. */
static void a_full_congestion_window_is_no_pace(void)
{
    for (int filled = 0; filled < 2; filled++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = saying(samples, PL_YES, 0, 20 * MSS);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].unacked = filled ? 10 : 9;
            samples[i].cwnd = 10;
            samples[i].pace_bytes_per_s = 160 * MSS;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of});
        for (int i = 0; i < 10; i++)
            send(&run, 0, false);
        send(&run, 62 * MS, false);
        run.mode = PL_MODE_FAST;
        resend(&run, MS);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PACING] >= 62, !filled);
        CHECK_EQ(ms[PL_LIMIT_PACING] > 0, !filled);
    }
}

/* A control connection's packets always meet a queue of other traffic. */
static void a_few_octets_in_a_queue_of_others_are_not_limited_by_the_path(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_as(&run, (struct pl_limits_path){.always_data = true});
    run.len = 53;
    run.queue_ns = 20 * MS;
    for (int round = 0; round < 4; round++)
        burst(&run, 1);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_PATH_RATE], 0);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 3 * 40);
}

/* The receiver's window has room for one more write, but not for a full segment. Each write leaves when the program's
 * rate limit allows it. */
static void a_window_that_a_programs_rate_does_not_fill_is_no_limit(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = saying(samples, PL_NO, 0, 900);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].pace_bytes_per_s = 900 * 20;
    begin_as(&run, (struct pl_limits_path){.samples = of});
    run.window = 1800;
    run.len = 900;
    for (int write = 0; write < 6; write++) {
        send(&run, 10 * MS, false);
        acknowledge(&run, RTT_NS, 900, false);
    }
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_RECEIVER_WINDOW], 0);
    CHECK(ms[PL_LIMIT_PACING] >= 5 * 50 - 1);
}

/* A control connection of a tool that always has data on another connection. A few octets on it are lost. */
static void a_few_octets_that_nothing_acknowledges_await_the_program(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_as(&run, (struct pl_limits_path){.always_data = true});
    run.len = 53;
    send(&run, 0, false);
    send(&run, 900 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 900);
}

/* The program first sends a window of data and waits for its peer. After that it always has data. */
static void an_opening_with_nothing_unsent_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
    for (int i = 0; i < SAMPLES; i++) {
        samples[i].notsent_bytes = i < 40 ? 0 : 20 * MSS;
        samples[i].sndbuf_bytes = SNDBUF;
    }
    begin_as(&run, (struct pl_limits_path){.samples = of, .always_data = true, .opening_bytes = 40 * MSS});
    for (int round = 0; round < 4; round++)
        burst(&run, 20 << round);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 40);
    CHECK_EQ(ms[PL_LIMIT_SLOW_START], 120);
}

/* Two packets, the first of which is acknowledged after a round trip. Nothing was unsent until then. */
static void the_wait_for_a_repair_begins_at_the_last_acknowledgement(void)
{
    for (int probe = 0; probe < 2; probe++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        struct pl_samples_of of = alike(samples, PL_CONTROL_WINDOW);
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].notsent_bytes = 0;
            samples[i].sndbuf_bytes = SNDBUF;
        }
        begin_as(&run, (struct pl_limits_path){.samples = of});
        send(&run, 0, false);
        send(&run, 0, false);
        acknowledge(&run, RTT_NS, MSS, false);
        run.probe = probe;
        run.mode = probe ? PL_MODE_NORMAL : PL_MODE_TIMEOUT;
        send(&run, 210 * MS, true);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_APPLICATION], 40);
        CHECK_EQ(ms[probe ? PL_LIMIT_FAST_RECOVERY : PL_LIMIT_TIMEOUT], 210);
    }
}

int main(void)
{
    RUN(a_counter_answers_where_it_cannot_be_otherwise);
    RUN(a_program_that_leaves_windows_and_buffer_unused_is_the_limit);
    RUN(controls_are_known_by_their_names);
    RUN(a_program_that_has_written_all_waits_for_no_room);
    RUN(a_program_says_whether_it_waits_for_room);
    RUN(a_spent_buffer_is_neither_slow_start_nor_pacing);
    RUN(a_program_that_has_given_all_does_not_delay_a_repair);
    RUN(a_program_that_has_given_all_awaits_no_acknowledgement);
    RUN(what_is_left_of_a_programs_rate_awaits_its_pace);
    RUN(a_full_congestion_window_is_no_pace);
    RUN(a_window_that_a_programs_rate_does_not_fill_is_no_limit);
    RUN(a_few_octets_in_a_queue_of_others_are_not_limited_by_the_path);
    RUN(a_few_octets_that_nothing_acknowledges_await_the_program);
    RUN(a_message_under_way_is_not_the_wait_behind_it);
    RUN(a_full_window_for_which_nothing_waited_is_not_the_limit);
    RUN(a_window_that_the_kernel_counts_is_the_limit_although_it_has_room);
    RUN(a_full_congestion_window_lets_the_windows_counter_decide);
    RUN(what_nothing_paces_is_not_paced);
    RUN(few_packets_at_the_programs_rate_are_paced);
    RUN(what_a_program_had_in_a_recovery_does_not_count_behind_it);
    RUN(what_both_windows_have_room_for_awaits_the_programs_rate);
    RUN(a_queue_at_a_line_that_was_idle_is_not_the_paths_rate);
    RUN(the_paths_rate_is_never_the_limit_while_the_line_rests);
    RUN(a_line_that_rests_while_packets_leave_is_not_their_limit);
    RUN(a_line_that_rests_is_not_the_limit_without_a_queue_either);
    RUN(a_line_that_a_programs_bursts_keep_at_work_is_not_their_limit);
    RUN(a_queue_elsewhere_is_not_judged_by_the_boxs_line);
    RUN(the_kernel_says_whether_slow_start_goes_on);
    RUN(a_full_send_buffer_is_the_limit_before_any_loss);
    RUN(late_acknowledgements_leave_a_pace_or_the_program_the_limit);
    RUN(an_opening_with_nothing_unsent_is_the_application);
    RUN(the_wait_for_a_repair_begins_at_the_last_acknowledgement);
    return 0;
}
