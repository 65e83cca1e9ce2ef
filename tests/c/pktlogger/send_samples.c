/* Samples of a sender's socket queue, and what they show about the sender's silences. */
#include "send_samples.h"

#include "limited_sender.h"

enum { SILENCES = 6, LATE_MS = 12, SAMPLES = 256, PORT = 40000, SNDBUF = 300000 };

static int parse(struct pl_send_samples *samples, const char *text, struct nc_error *error)
{
    *samples = (struct pl_send_samples){0};
    const uint8_t *at = (const uint8_t *)text;
    return pl_send_samples_parse(samples, "x.csv", at, at + strlen(text), error);
}

static void a_file_has_samples_of_many_connections(void)
{
    struct pl_send_samples samples;
    struct nc_error error;
    CHECK_EQ(parse(&samples,
                   "t_ns,local_port,remote_port,notsent_bytes,queued_bytes,sndbuf_bytes\n"
                   "30,2,9,7,0,0\n10,2,9,5,400,300\n20,1,9,6,1,300\n20,2,9,0,201,300",
                   &error),
             0);
    struct pl_samples_of of = pl_send_samples_of(&samples, 2, 9);
    CHECK_EQ(of.n, 3);
    CHECK(of.first[0].t_ns == 10 && of.first[2].t_ns == 30);
    struct pl_samples_seen seen = pl_samples_over(&of, 10, 30, 5);
    CHECK(seen.n == 2 && seen.unsent == 1 && seen.full && seen.sized);
    seen = pl_samples_over(&of, 30, 40, 5);
    CHECK(seen.n == 1 && seen.unsent == 1 && !seen.sized);
    CHECK_EQ(pl_send_samples_of(&samples, 3, 9).n, 0);
    pl_send_samples_free(&samples);
}

/* Columns in any order; columns that are not known are left out. */
static void a_file_says_which_columns_it_has(void)
{
    struct pl_send_samples samples;
    struct nc_error error;
    CHECK_EQ(parse(&samples, "total_rto,notsent_bytes,local_port,remote_port,t_ns\n3,7,2,9,30", &error), 0);
    const struct pl_send_sample *only = samples.list.at;
    CHECK(only->t_ns == 30 && only->notsent_bytes == 7 && only->total_rto == 3 && only->sndbuf_bytes == 0);
    pl_send_samples_free(&samples);
    CHECK_EQ(parse(&samples, "t_ns,local_port,remote_port,notsent_bytes\n1,2,3,4", &error), 0);
    CHECK_EQ(samples.list.at->total_rto, PL_NO_TOTAL_RTO);
    CHECK_EQ(samples.list.at->pace_bytes_per_s, 0);
    CHECK_EQ(samples.list.at->waits, PL_UNKNOWN);
    pl_send_samples_free(&samples);
    CHECK_EQ(parse(&samples,
                   "t_ns,local_port,remote_port,notsent_bytes,waiting_bytes\n"
                   "1,2,3,4,0\n2,2,3,4,9\n3,2,3,4,",
                   &error),
             0);
    CHECK_EQ(samples.list.at[0].waits, PL_NO);
    CHECK_EQ(samples.list.at[1].waits, PL_YES);
    CHECK_EQ(samples.list.at[2].waits, PL_UNKNOWN);
    pl_send_samples_free(&samples);
#define PACED "t_ns,local_port,remote_port,notsent_bytes,max_pacing_rate_bytes_per_s\n1,2,3,4,"
    CHECK_EQ(parse(&samples, PACED "18446744073709551615", &error), 0);
    CHECK(samples.list.at->pace_bytes_per_s == UINT64_MAX);
    pl_send_samples_free(&samples);
    CHECK_EQ(parse(&samples, PACED "18446744073709551616", &error), -1);
    pl_send_samples_free(&samples);
}

/* Samples every 10 ms, except for one second without samples. The kernel counts time-outs at 25 ms and at 500 ms. */
static void samples_on_either_side_say_whether_there_was_a_time_out(void)
{
    struct pl_send_sample list[6] = {{.t_ns = 10 * MS},
                                     {.t_ns = 20 * MS},
                                     {.t_ns = 30 * MS, .total_rto = 1},
                                     {.t_ns = 40 * MS, .total_rto = 1},
                                     {.t_ns = 1040 * MS, .total_rto = 2},
                                     {.t_ns = 1050 * MS, .total_rto = PL_NO_TOTAL_RTO}};
    const struct pl_samples_of of = {.first = list, .n = 6};
    static const struct {
        int64_t ms;
        enum pl_counted counted;
    } rows[] = {
        {1, PL_COUNTED_NONE}, /* none since the connection began */
        {15, PL_COUNTED_NONE},      {25, PL_COUNTED_ONE},
        {20, PL_COUNTED_ONE}, /* the capture's time may be earlier or later than the kernel's */
        {30, PL_COUNTED_ONE},       {35, PL_COUNTED_NONE},
        {500, PL_COUNTED_UNKNOWN}, /* somewhere in this second */
        {1045, PL_COUNTED_UNKNOWN}, {1060, PL_COUNTED_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        CHECK_EQ(pl_samples_timeout(&of, rows[i].ms * MS), rows[i].counted);
    const struct pl_samples_of none = {0};
    CHECK_EQ(pl_samples_timeout(&none, MS), PL_COUNTED_UNKNOWN);
}

static void a_wrong_line_is_named(void)
{
    static const char *const wrong[] = {
        "t_ns,port\n",
        "t_ns,local_port,remote_port\n",
        "t_ns,local_port,remote_port,notsent_bytes,t_ns\n",
        "t_ns,local_port,remote_port,notsent_bytes,\n",
        "t_ns,local_port,remote_port,notsent_bytes,queued_bytes\n",
        "t_ns,local_port,remote_port,notsent_bytes\n1,2,3\n",
        "t_ns,local_port,remote_port,notsent_bytes\n1,2,3,4,5\n",
        "t_ns,local_port,remote_port,notsent_bytes\n1,65536,3,4\n",
        "t_ns,local_port,remote_port,notsent_bytes\n-1,2,3,4\n",
        "t_ns,local_port,remote_port,notsent_bytes\n\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pl_send_samples samples;
        struct nc_error error;
        CHECK_EQ(parse(&samples, wrong[i], &error), -1);
        CHECK_EQ(error.status, NC_EXIT_USAGE);
        CHECK(strstr(error.text, i > 4 ? "line 2" : "line 1"));
        pl_send_samples_free(&samples);
    }
}

/* A sender on a busy machine: in each round trip half of the flight is acknowledged. When a third of the buffer is
 * free, it takes LATE_MS until the program runs and sends as much again, which no acknowledgement triggers. In captures
 * it looks like a program that writes this amount periodically. */
static void late_writer(struct run *run, struct pl_limits_path path, int64_t ms[PL_LIMIT_N])
{
    begin_as(run, path);
    for (int i = 0; i < 60; i++)
        send(run, 1000, false);
    for (int round = 0; round < SILENCES; round++) {
        for (int i = 0; i < 10; i++)
            acknowledge(run, MS, 3 * MSS, false);
        send(run, (LATE_MS + round % 3) * MS, false); /* the amount in flight differs from the previous time */
        for (int i = 1; i < 30; i++)
            send(run, 1000, false);
    }
    send(run, 1000, false);
    end(run, ms);
}

/* A sample every millisecond, all alike. */
static struct pl_samples_of alike(struct pl_send_sample samples[SAMPLES], uint32_t notsent, uint32_t queued)
{
    for (int i = 0; i < SAMPLES; i++)
        samples[i] = (struct pl_send_sample){.t_ns = i * MS,
                                             .notsent_bytes = notsent,
                                             .queued_bytes = queued,
                                             .sndbuf_bytes = queued ? SNDBUF : 0,
                                             .local_port = PORT,
                                             .remote_port = PORT};
    return (struct pl_samples_of){.first = samples, .n = SAMPLES};
}

static void without_samples_such_silences_are_the_applications(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    late_writer(&run, (struct pl_limits_path){0}, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
}

static void a_buffer_in_which_a_writer_waits_is_the_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, 0, SNDBUF / 3 * 2 + 1);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].near_full = true;
    late_writer(&run, (struct pl_limits_path){.samples = of}, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= SILENCES * LATE_MS);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* A writer begins to wait when the buffer is full. A writer that is too slow to fill it does not wait. */
static void a_buffer_that_is_never_full_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    late_writer(&run, (struct pl_limits_path){.samples = alike(samples, 0, SNDBUF - 1)}, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
}

/* A buffer of 300 is full at the sixth and the fiftieth sample of a connection. After that, never a third of it is
 * free. */
static void a_buffer_is_full_until_a_third_of_it_is_free(void)
{
    enum { N = 80, FULL = 5, STAYS = 49 };
    char text[4096] = "t_ns,local_port,remote_port,notsent_bytes,queued_bytes,sndbuf_bytes\n";
    for (int port = 1; port <= 2; port++)
        for (int i = 0; i < N; i++) {
            bool full = port == 1 && (i == FULL || i == STAYS);
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d,9,0,%d,300\n", i, port,
                     full                     ? 300
                     : i > STAYS || port == 2 ? 201
                                              : 200);
        }
    struct pl_send_samples samples = {0};
    struct nc_error error;
    CHECK_EQ(pl_send_samples_parse(&samples, "f", (const uint8_t *)text, (const uint8_t *)text + strlen(text), &error),
             0);
    for (int i = 0; i < N; i++) {
        bool near = abs(i - FULL) < 8 || i > STAYS - 8;
        CHECK_EQ(samples.list.at[i].near_full, near);
        CHECK_EQ(samples.list.at[N + i].near_full, false);
    }
    pl_send_samples_free(&samples);
}

/* No sample shows a full buffer of 300. A program that has more to give and gives nothing for 6 ms waits for room. It
 * does not wait if it gives nothing for 4 ms, gives something each time, has a third free, or has given all. */
static void a_program_that_gives_nothing_waits_for_room(void)
{
    static const struct {
        int ms, gives, queued, waiting;
        bool stands;
    } rows[] = {{6, 0, 201, 1, true},
                {4, 0, 201, 1, false},
                {6, 1, 201, 1, false},
                {6, 0, 200, 1, false},
                {6, 0, 201, 0, false}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        char text[4096] =
            "t_ns,local_port,remote_port,notsent_bytes,queued_bytes,sndbuf_bytes,waiting_bytes,bytes_sent,"
            "bytes_retrans\n";
        for (int i = 0; i <= rows[row].ms; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d000000,1,9,0,%d,300,%d,%d,5\n", i,
                     rows[row].queued, rows[row].waiting, 1000 + i * rows[row].gives);
        struct pl_send_samples samples;
        struct nc_error error;
        text[strlen(text) - 1] = '\0';
        CHECK_EQ(parse(&samples, text, &error), 0);
        for (int i = 0; i <= rows[row].ms; i++)
            CHECK_EQ(samples.list.at[i].near_full, rows[row].stands);
        pl_send_samples_free(&samples);
    }
}

/* More memory than the buffer's size of 240,000 octets is in use. A slow program gives 50,000 octets between samples,
 * and a third is never free: it does not wait. A program that waits until a third is free and then fills the buffer
 * gives the same amount at every second sample. */
static void a_program_that_goes_on_beyond_a_full_buffer_does_not_wait(void)
{
    for (unsigned waits = 0; waits < 2; waits++) {
        char text[4096] =
            "t_ns,local_port,remote_port,notsent_bytes,queued_bytes,sndbuf_bytes,waiting_bytes,bytes_sent,"
            "bytes_retrans,unacked\n";
        enum { N = 20, SIZE = 240000, MS_APART = 10 };
        for (int i = 0; i < N; i++) {
            int queued = waits && i % 2 ? 200000 : 245000;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d000000,1,9,0,%d,%d,8192,%d,0,%d\n",
                     i * MS_APART, queued, SIZE, 300000 + 50000 * (waits ? i / 2 * 2 : i), queued / MSS);
        }
        struct pl_send_samples samples;
        struct nc_error error;
        text[strlen(text) - 1] = '\0';
        CHECK_EQ(parse(&samples, text, &error), 0);
        struct pl_samples_of of = pl_send_samples_of(&samples, 1, 9);
        struct pl_samples_seen seen = pl_samples_over(&of, 0, (N - 1) * MS_APART * MS, MSS);
        CHECK_EQ(seen.n, N - 1);
        CHECK_EQ(seen.spent, waits ? N - 1 : 0);
        CHECK_EQ(seen.room, waits ? 0 : N - 1);
        pl_send_samples_free(&samples);
    }
}

/* A full buffer; then a third of it is free; and then the program gives too little to fill it between two samples. */
static void a_buffer_that_was_full_before_is_not_full_again(void)
{
    static const int queued[] = {240000, 150000, 170000, 180000, 185000};
    enum { N = sizeof queued / sizeof *queued };
    for (unsigned much = 0; much < 2; much++) {
        char text[4096] =
            "t_ns,local_port,remote_port,notsent_bytes,queued_bytes,sndbuf_bytes,waiting_bytes,bytes_sent,"
            "bytes_retrans,unacked\n";
        for (int i = 0; i < N; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d0000000,1,9,0,%d,240000,8192,%d,0,%d\n", i,
                     queued[i], 300000 + (much ? 90000 : 30000) * i, queued[i] / MSS);
        struct pl_send_samples samples;
        struct nc_error error;
        text[strlen(text) - 1] = '\0';
        CHECK_EQ(parse(&samples, text, &error), 0);
        struct pl_samples_of of = pl_send_samples_of(&samples, 1, 9);
        struct pl_samples_seen seen = pl_samples_over(&of, 20 * MS, 41 * MS, MSS);
        CHECK_EQ(seen.n, 3);
        CHECK_EQ(seen.spent, much ? 3 : 0);
        pl_send_samples_free(&samples);
    }
}

static void a_buffer_with_room_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    late_writer(&run, (struct pl_limits_path){.samples = alike(samples, 0, SNDBUF / 3 * 2)}, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
}

/* A program writes a burst that fills the buffer until it is acknowledged. A writer that waits for room would send as
 * soon as there is room. This program sends its next burst 12 ms later. */
static void a_buffer_that_has_had_room_for_long_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 0, SNDBUF)});
    for (int i = 0; i < SAMPLES; i++)
        if (i % 70 > 58 || i % 70 == 0) /* bursts are 70 ms apart */
            samples[i].queued_bytes = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 20; i++)
            send(&run, i || !round ? 1000 : 12 * MS, false);
        for (int i = 0; i < 10; i++)
            acknowledge(&run, i ? 2 * MS : 40 * MS, 2 * MSS, false);
    }
    send(&run, 12 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 2 * 69);
}

static void nothing_unsent_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    late_writer(&run, (struct pl_limits_path){.samples = alike(samples, MSS - 1, 0)}, ms); /* Nagle keeps it back */
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
}

static void silence_with_data_unsent_is_never_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    late_writer(&run, (struct pl_limits_path){.samples = alike(samples, 20 * MSS, 0)}, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* Behind a full window the kernel waits for room for a super-packet, and data are unsent all the time. The round by
 * itself would show slow start, but the limit is the receiver's window. */
static void silence_behind_a_full_window_is_the_windows(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 20 * MSS, 0)});
    run.window = 60 * MSS;
    for (int i = 0; i < 60; i++)
        send(&run, 1000, false);
    acknowledge(&run, MS, 10 * MSS, false);
    acknowledge(&run, MS, 10 * MSS, false);
    send(&run, 12 * MS, false);
    run.mode = PL_MODE_FAST; /* the round does not end */
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_RECEIVER_WINDOW] >= 13);
}

/* A steady flight is not due to the send buffer if the buffer holds unsent data. */
static void a_flight_that_stands_still_with_data_unsent_is_no_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 20 * MSS, 0)});
    burst(&run, 10);
    burst(&run, 20);
    for (int round = 0; round < 4; round++)
        burst(&run, 40);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK(ms[PL_LIMIT_CONGESTION_AVOIDANCE] >= 119);
}

/* The flight is steady from the second round on. Data are unsent until the third round ends; from then on everything in
 * the buffer is sent. The fifth round shows a cause. It also applies to earlier rounds that do not contradict it. */
static void a_flights_name_is_not_given_to_rounds_that_contradict_it(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, 0, SNDBUF);
    for (int i = 0; i < 3 * 40; i++)
        samples[i].notsent_bytes = 20 * MSS;
    begin_as(&run, (struct pl_limits_path){.samples = of});
    for (int round = 0; round < 6; round++)
        burst(&run, 40);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 79 && ms[PL_LIMIT_SEND_BUFFER] <= 121);
    CHECK(ms[PL_LIMIT_CONGESTION_AVOIDANCE] >= 79);
}

/* The same for a program that has given everything by the end of the third round. */
static void a_round_with_data_unsent_is_not_called_the_applications_later(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    struct pl_samples_of of = alike(samples, 0, SNDBUF / 4);
    for (int i = 0; i < 3 * 40; i++)
        samples[i].notsent_bytes = 20 * MSS;
    begin_as(&run, (struct pl_limits_path){.samples = of});
    for (int round = 0; round < 6; round++)
        burst(&run, 40);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 79 && ms[PL_LIMIT_APPLICATION] <= 121);
    CHECK(ms[PL_LIMIT_CONGESTION_AVOIDANCE] >= 79);
}

/* A sample every 100 ms. Most of the silences, which last 12 to 14 ms, contain no sample. */
static struct pl_samples_of rare(struct pl_send_sample samples[SAMPLES], uint32_t notsent, uint32_t queued)
{
    struct pl_samples_of of = alike(samples, notsent, queued);
    for (int i = 0; i < SAMPLES; i++)
        samples[i].t_ns *= 100;
    return of;
}

static void samples_near_a_silence_tell_of_it_where_none_is_within(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    late_writer(&run, (struct pl_limits_path){.samples = rare(samples, 20 * MSS, SNDBUF), .always_data = true}, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
    late_writer(&run, (struct pl_limits_path){.samples = rare(samples, 0, SNDBUF / 2), .always_data = true}, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
    late_writer(&run, (struct pl_limits_path){.samples = rare(samples, 0, SNDBUF / 2)}, ms);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
    late_writer(&run, (struct pl_limits_path){.samples = rare(samples, 0, SNDBUF)}, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= SILENCES * LATE_MS);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

static void the_nearest_sample_may_be_before_or_behind(void)
{
    const struct pl_send_sample list[] = {{.t_ns = 10, .notsent_bytes = 5, .sndbuf_bytes = 300},
                                          {.t_ns = 20, .sndbuf_bytes = 300}};
    struct pl_samples_of of = {.first = list, .n = 2};
    CHECK_EQ(pl_samples_near(&of, 1, 2, 5).unsent, 1);
    CHECK_EQ(pl_samples_near(&of, 12, 14, 5).unsent, 1);
    CHECK_EQ(pl_samples_near(&of, 14, 17, 5).idle, 1);
    CHECK_EQ(pl_samples_near(&of, 15, 25, 5).idle, 1);
    CHECK_EQ(pl_samples_near(&of, 30, 40, 5).idle, 1);
    CHECK_EQ(pl_samples_over(&of, 30, 40, 5).n, 0);
    of = (struct pl_samples_of){0};
    CHECK_EQ(pl_samples_near(&of, 1, 2, 5).n, 0);
}

/* A program has given all its data, and less than a segment is unsent. If both windows have room and nothing paces,
 * Nagle's rule holds the rest back, which would be sent if the program gave more. */
static void less_than_a_segment_with_room_in_both_windows_awaits_the_program(void)
{
    static const struct {
        uint32_t unacked, cwnd, window, notsent;
        uint64_t pace;
        bool unsent;
    } rows[] = {
        {2, 10, 3 * MSS - 1, MSS - 1, INT64_MAX, false},
        {2, 3, 100 * MSS, 1, INT64_MAX, false},
        {2, 2, 100 * MSS, 1, INT64_MAX, true},          /* the congestion window is full */
        {2, 10, 3 * MSS - 2, MSS - 1, INT64_MAX, true}, /* the receiver's window has no room for it */
        {2, 10, 100 * MSS, MSS, INT64_MAX, true},       /* Nagle's rule lets a segment go */
        {2, 10, 100 * MSS, 1, 78125, true},             /* the rate that the program allows holds it back */
        {0, 10, 100 * MSS, 1, INT64_MAX, true},         /* nothing to wait for */
        {PL_NO_UNACKED, 10, 100 * MSS, 1, INT64_MAX, true},
        {0, 10, 100 * MSS, 1, 78125, true}, /* the rate again */
        {2, 0, 100 * MSS, 1, INT64_MAX, true},
        {2, 10, 0, 1, INT64_MAX, true},
        {2, 10, 100 * MSS, 1, 0, true},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const struct pl_send_sample list[] = {{.t_ns = 10,
                                               .waits = PL_NO,
                                               .notsent_bytes = rows[row].notsent,
                                               .unacked = rows[row].unacked,
                                               .cwnd = rows[row].cwnd,
                                               .window = rows[row].window,
                                               .pace_bytes_per_s = rows[row].pace}};
        struct pl_samples_of of = {.first = list, .n = 1};
        struct pl_samples_seen seen = pl_samples_over(&of, 0, 20, MSS);
        CHECK_EQ(seen.unsent, rows[row].unsent);
        CHECK_EQ(seen.given, !rows[row].unsent);
        CHECK_EQ(seen.idle, !rows[row].unsent);
        CHECK_EQ(seen.kept, rows[row].pace == 78125);
    }
}

static void a_program_that_always_has_data_waits_for_the_send_buffer(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    late_writer(&run, (struct pl_limits_path){.always_data = true}, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= SILENCES * LATE_MS);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* A flight that varies, so the flight itself does not show a full buffer. By the samples the buffer is full and
 * everything in it is sent. */
static void a_full_buffer_with_nothing_unsent_leaves_nothing_to_the_window(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, MSS - 1, SNDBUF), .always_data = true});
    burst(&run, 40);
    for (int round = 0; round < 5; round++)
        burst(&run, round % 2 ? 34 : 44);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_SEND_BUFFER] >= 199);
    CHECK_EQ(ms[PL_LIMIT_CONGESTION_AVOIDANCE], 0);
}

/* Next to a gateway, each packet of BBR is acknowledged before the next one is due, so a round has one packet. The
 * kernel's rate is 1,000 bytes per 10 ms. It is no evidence if ssthresh has been reduced, or if more is sent. */
static void a_sender_at_its_congestion_controls_rate_is_paced(void)
{
    static const struct {
        uint32_t ssthresh;
        uint64_t rate;
        bool paced;
    } rows[] = {{PL_SSTHRESH_FIRST, 100000, true},
                {PL_SSTHRESH_FIRST, 0, false},
                {PL_SSTHRESH_FIRST, 50000, false},
                {PL_SSTHRESH_FIRST, 120000, false},
                {20, 100000, false}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 20 * MSS, 0), .always_data = true});
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].ssthresh = rows[row].ssthresh;
            samples[i].kernel_pace_bytes_per_s = rows[row].rate;
        }
        run.len = MSS;
        for (int i = 0; i < 20; i++) {
            send(&run, i ? 9 * MS : MS, false);
            acknowledge(&run, MS, MSS, false);
        }
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PACING] >= 170, rows[row].paced);
        CHECK_EQ(ms[PL_LIMIT_PACING] > 0, rows[row].paced);
    }
}

/* BBR changes its rate within a round, so the data of a round do not have a single rate. If data wait while both
 * windows have room, they wait for BBR's rate. */
static void data_that_both_windows_have_room_for_wait_for_the_controls_rate(void)
{
    static const struct {
        enum pl_control control;
        uint32_t unacked, window, notsent;
        bool paced;
    } rows[] = {
        {PL_CONTROL_RATE, 30, 100 * MSS, 20 * MSS, true},    {PL_CONTROL_MARKED_RATE, 30, 100 * MSS, 20 * MSS, true},
        {PL_CONTROL_WINDOW, 30, 100 * MSS, 20 * MSS, false}, {PL_CONTROL_UNKNOWN, 30, 100 * MSS, 20 * MSS, false},
        {PL_CONTROL_RATE, 50, 100 * MSS, 20 * MSS, false},   {PL_CONTROL_RATE, 30, 30 * MSS, 20 * MSS, false},
        {PL_CONTROL_RATE, 30, 100 * MSS, 0, false}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        begin_as(&run, (struct pl_limits_path){.samples = alike(samples, rows[row].notsent, 0), .always_data = true});
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].control = (uint8_t)rows[row].control;
            samples[i].cwnd = 50;
            samples[i].ssthresh = 20;
            samples[i].unacked = rows[row].unacked;
            samples[i].window = rows[row].window;
            samples[i].kernel_pace_bytes_per_s = 1;
        }
        for (int round = 0; round < 6; round++)
            burst(&run, round % 2 ? 34 : 44);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK_EQ(ms[PL_LIMIT_PACING] >= 199, rows[row].paced);
        CHECK_EQ(ms[PL_LIMIT_PACING] > 0, rows[row].paced);
    }
}

/* Super-packets of 20 segments behind a window with room for 10 more. As long as both windows have room for one
 * segment, BBR's rate holds the packets back. If a window is full, the window is the limit. */
static void a_window_with_room_for_a_segment_is_not_the_limit_of_a_rate(void)
{
    for (uint32_t unacked = 120; unacked <= 130; unacked += 10) {
        struct run run;
        int64_t ms[PL_LIMIT_N];
        struct pl_send_sample samples[SAMPLES];
        begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 20 * MSS, 0), .always_data = true});
        for (int i = 0; i < SAMPLES; i++) {
            samples[i].control = PL_CONTROL_RATE;
            samples[i].cwnd = 300;
            samples[i].unacked = unacked;
            samples[i].window = 130 * MSS;
        }
        run.window = 130 * MSS;
        run.len = 20 * MSS;
        for (int round = 0; round < 8; round++)
            burst(&run, 6);
        send(&run, 1000, false);
        end(&run, ms);
        CHECK(ms[unacked < 130 ? PL_LIMIT_PACING : PL_LIMIT_RECEIVER_WINDOW] >= 7 * 39);
        CHECK_EQ(ms[unacked < 130 ? PL_LIMIT_RECEIVER_WINDOW : PL_LIMIT_PACING], 0);
    }
}

/* A client with a buffer that could hold its request many times. No answer carries data. */
static void a_flight_that_stands_still_in_a_buffer_with_room_is_the_application(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 0, SNDBUF / 4)});
    for (int round = 0; round < 6; round++)
        burst(&run, 20);
    send(&run, 1000, false);
    end(&run, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= 6 * 39);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
}

/* A sample between the program's first two writes shows that everything is sent. */
static void a_program_that_always_has_data_is_not_idle_between_two_writes(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 0, SNDBUF / 4), .always_data = true});
    for (int i = 0; i < 30; i++)
        send(&run, MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* One packet per millisecond, with a sample in each gap: the program writes them at that pace. */
static void even_packets_of_a_buffer_with_room_are_pacing(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample samples[SAMPLES];
    begin_as(&run, (struct pl_limits_path){.samples = alike(samples, 0, SNDBUF / 4)});
    for (int i = 0; i < 200; i++) {
        send(&run, MS / 2, false);
        if (i >= 40)
            acknowledge(&run, MS / 2, MSS, false);
        else
            run.now_ns += MS / 2;
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_PACING] >= 100);
}

/* One segment every 12 ms, at 0.67 Mbit/s: the kernel paces data that the program has written. */
static void even_silences_of_a_program_that_always_has_data_are_pacing(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_as(&run, (struct pl_limits_path){.always_data = true});
    for (int i = 0; i < 40; i++)
        send(&run, 1000, false); /* large enough to count as data */
    acknowledge(&run, RTT_NS, run.high - run.una, false);
    for (int i = 0; i < 200; i++) {
        send(&run, 7 * MS, false);
        if (i >= 3)
            acknowledge(&run, 5 * MS, MSS, false);
        else
            run.now_ns += 5 * MS;
    }
    end(&run, ms);
    CHECK(ms[PL_LIMIT_PACING] >= 150 * 12);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
}

/* The octets that a tool sends on a connection before its data; and all octets on its control connection. */
static void little_data_is_not_yet_the_programs_data(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    begin_as(&run, (struct pl_limits_path){.always_data = true});
    send(&run, 0, false);
    acknowledge(&run, RTT_NS, MSS, false);
    send(&run, 100 * MS, false);
    end(&run, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 140);
}

/* With a window, rttcp first sends one window at a time, and waits for each acknowledgement. */
static void what_a_program_sends_before_its_data_may_be_long(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    late_writer(&run, (struct pl_limits_path){.always_data = true, .opening_bytes = 1 << 30}, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
    CHECK_EQ(ms[PL_LIMIT_SEND_BUFFER], 0);
}

/* The same, with samples of the connection that show when the opening was over. */
static void the_opening_that_samples_tell_is_the_connections_own(void)
{
    struct run run;
    int64_t ms[PL_LIMIT_N];
    struct pl_send_sample sample = {.t_ns = 1, .opening_bytes = 40 * MSS};
    const struct pl_limits_path path = {
        .always_data = true, .opening_bytes = 1 << 30, .samples = {.first = &sample, .n = 1}};
    late_writer(&run, path, ms);
    CHECK_EQ(ms[PL_LIMIT_APPLICATION], 0);
    sample.opening_bytes = 1 << 30;
    late_writer(&run, path, ms);
    CHECK(ms[PL_LIMIT_APPLICATION] >= SILENCES * LATE_MS);
}

int main(void)
{
    RUN(a_file_has_samples_of_many_connections);
    RUN(a_file_says_which_columns_it_has);
    RUN(samples_on_either_side_say_whether_there_was_a_time_out);
    RUN(a_wrong_line_is_named);
    RUN(without_samples_such_silences_are_the_applications);
    RUN(a_buffer_in_which_a_writer_waits_is_the_send_buffer);
    RUN(a_buffer_that_is_never_full_is_the_application);
    RUN(a_buffer_is_full_until_a_third_of_it_is_free);
    RUN(a_program_that_goes_on_beyond_a_full_buffer_does_not_wait);
    RUN(a_buffer_that_was_full_before_is_not_full_again);
    RUN(a_program_that_gives_nothing_waits_for_room);
    RUN(a_buffer_with_room_is_the_application);
    RUN(a_buffer_that_has_had_room_for_long_is_the_application);
    RUN(nothing_unsent_is_the_application);
    RUN(silence_with_data_unsent_is_never_the_application);
    RUN(silence_behind_a_full_window_is_the_windows);
    RUN(a_flight_that_stands_still_with_data_unsent_is_no_send_buffer);
    RUN(a_flights_name_is_not_given_to_rounds_that_contradict_it);
    RUN(a_round_with_data_unsent_is_not_called_the_applications_later);
    RUN(samples_near_a_silence_tell_of_it_where_none_is_within);
    RUN(the_nearest_sample_may_be_before_or_behind);
    RUN(less_than_a_segment_with_room_in_both_windows_awaits_the_program);
    RUN(a_program_that_always_has_data_waits_for_the_send_buffer);
    RUN(a_full_buffer_with_nothing_unsent_leaves_nothing_to_the_window);
    RUN(a_sender_at_its_congestion_controls_rate_is_paced);
    RUN(a_window_with_room_for_a_segment_is_not_the_limit_of_a_rate);
    RUN(data_that_both_windows_have_room_for_wait_for_the_controls_rate);
    RUN(a_flight_that_stands_still_in_a_buffer_with_room_is_the_application);
    RUN(a_program_that_always_has_data_is_not_idle_between_two_writes);
    RUN(even_packets_of_a_buffer_with_room_are_pacing);
    RUN(even_silences_of_a_program_that_always_has_data_are_pacing);
    RUN(little_data_is_not_yet_the_programs_data);
    RUN(what_a_program_sends_before_its_data_may_be_long);
    RUN(the_opening_that_samples_tell_is_the_connections_own);
    return 0;
}
