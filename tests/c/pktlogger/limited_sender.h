/* A sender of 1,000-byte packets over a path of 40 ms, and the limits that pl_limits finds for it. Time is virtual. */
#ifndef LIMITED_SENDER_H
#define LIMITED_SENDER_H

#include "check.h"
#include "limits.h"

#define MS INT64_C(1000000)
enum { MSS = 1000, ROWS = 64 };
#define RTT_NS (40 * MS)
#define OPEN_WINDOW 10000000

/* A sender and the rows of its limits. */
struct run {
    struct pl_limits *limits;
    struct pl_gap gap;
    int64_t now_ns;
    uint64_t una, high;
    uint32_t window;
    enum pl_sender_mode mode;
    bool reduced; /* the next packet follows a reduction that ECN marks caused */
    bool probe;   /* retransmissions are tail-loss probes, not time-outs */
    bool answer;  /* acknowledgements come with data of the peer */
    uint32_t len; /* of packets; 0: MSS */
    int64_t queue_ns, line_ns;
    size_t n;
    struct pl_limit rows[ROWS];
};

static inline void keep(void *context, const struct pl_limit *row)
{
    struct run *run = context;
    CHECK(run->n < ROWS);
    CHECK(run->n == 0 || run->rows[run->n - 1].t1_ns == row->t0_ns);
    run->rows[run->n++] = *row;
}

static inline void begin_as(struct run *run, struct pl_limits_path path)
{
    *run = (struct run){.gap = pl_gap_none(MSS), .una = 1, .high = 1, .window = OPEN_WINDOW};
    path.mss = MSS;
    path.min_rtt_ns = RTT_NS;
    path.sink = keep;
    path.context = run;
    run->limits = pl_limits_new(&path);
    CHECK(run->limits);
}

static inline void begin_behind(struct run *run, int64_t segment_ns)
{
    begin_as(run, (struct pl_limits_path){.segment_ns = segment_ns});
}

static inline void begin(struct run *run)
{
    begin_behind(run, 0);
}

static inline void send_as(struct run *run, int64_t after_ns, bool again, bool timeout)
{
    uint32_t len = run->len ? run->len : MSS;
    run->now_ns += after_ns;
    if (!again)
        run->high += len;
    const struct pl_sent sent = {.t_ns = run->now_ns,
                                 .queue_ns = run->queue_ns,
                                 .line_ns = run->line_ns,
                                 .una = run->una,
                                 .high = run->high,
                                 .len = len,
                                 .window = run->window,
                                 .window_known = true,
                                 .timeout = timeout,
                                 .probe = again && run->probe,
                                 .repair = again && run->probe,
                                 .reduced = run->reduced,
                                 .mode = run->mode};
    run->reduced = false;
    CHECK_EQ(pl_limits_send(run->limits, &run->gap, &sent), 0);
    pl_gap_begin(&run->gap, &sent);
}

static inline void send(struct run *run, int64_t after_ns, bool again)
{
    send_as(run, after_ns, again, again && !run->probe);
}

/* A fast retransmission. */
static inline void resend(struct run *run, int64_t after_ns)
{
    send_as(run, after_ns, true, false);
}

static inline void acknowledge(struct run *run, int64_t after_ns, uint64_t bytes, bool recovered)
{
    run->now_ns += after_ns;
    run->una += bytes;
    const struct pl_acked acked = {.t_ns = run->now_ns,
                                   .una = run->una,
                                   .high = run->high,
                                   .window = run->window,
                                   .advanced = bytes > 0,
                                   .ended = recovered ? run->mode : PL_MODE_NORMAL,
                                   .answer = run->answer};
    if (recovered)
        run->mode = PL_MODE_NORMAL;
    pl_gap_window(&run->gap, run->now_ns, run->window);
    pl_gap_ack(&run->gap, &acked);
}

/* A round: `packets` at once, then silence until 40 ms have passed, and one acknowledgement of all. */
static inline void burst(struct run *run, int packets)
{
    for (int i = 0; i < packets; i++)
        send(run, 1000, false);
    acknowledge(run, RTT_NS - 1000 * packets, run->high - run->una, false);
}

/* A sender whose packets all meet a queue: four rounds, and the first 30 ms of a fifth. */
enum { QUEUE_MS = 4 * 40 + 30 };
static inline void begin_with_a_queue(struct run *run)
{
    begin(run);
    run->queue_ns = 20 * MS;
    for (int round = 0; round < 4; round++)
        burst(run, 40);
    for (int i = 0; i < 30; i++)
        send(run, MS, false);
}

/* Ends the sender. Returns the total time of each cause in ms. */
static inline void end(struct run *run, int64_t ms[PL_LIMIT_N])
{
    pl_limits_end(run->limits, &run->gap);
    pl_limits_free(run->limits);
    memset(ms, 0, PL_LIMIT_N * sizeof *ms);
    for (size_t i = 0; i < run->n; i++)
        ms[run->rows[i].cause] += (run->rows[i].t1_ns - run->rows[i].t0_ns) / MS;
}

#endif
