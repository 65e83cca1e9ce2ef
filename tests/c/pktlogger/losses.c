/* Causes of losses on a simulated path, where each cause is known. The path has a bottleneck with 0.25 ms per part and
 * a delay of 20 ms. The sender lets the queue grow until a part is lost, and reduces it a round trip later. `late_ms`:
 * every time stamp is late by a random time with this mean, but no packet arrives before it leaves. */
#include "losses.h"

#include <math.h>
#include <stdio.h>

#include "check.h"
#include "loss_judge.h"
#include "service.h"
#include "thresholds.h"

#define MS INT64_C(1000000)
enum { LEN = 1448, PARTS = 24000, LOSSES = 4096 };
enum kind { TAIL, MANAGED, LAGGING, BEFORE, BEHIND, OUTAGE, FULL_OUTAGE, BURSTS };
enum control { STEADY, SAWTOOTH, PROBING, STANDING };

static const double delay_ms = 20, part_ms = 0.25, full_ms = 24, rtt_ms = 40, outage_ms = 1000;

struct path {
    struct pl_transfer t;
    struct pl_segment parts[PARTS];
    size_t n, lost, right, wrong, unknown;
    double mean_queue_ms; /* moving average of the queue over a few hundred parts */
    uint64_t state;
    enum pl_loss_cause truth;
    struct pl_loss rows[LOSSES];
    size_t row_n;
    struct pl_time_spans down;
    bool bursts;  /* a burst goes on */
    bool changes; /* the bottleneck takes twice as long in every other second */
};

/* Even between 0 and 1: xorshift64*. */
static double even(struct path *path)
{
    path->state ^= path->state >> 12;
    path->state ^= path->state << 25;
    path->state ^= path->state >> 27;
    return (double)((path->state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

static double late(struct path *path, double mean_ms)
{
    return mean_ms > 0 ? -mean_ms * log(1 - even(path)) : 0;
}

static double work_ms(const struct path *path, double now_ms)
{
    return part_ms * (path->changes && fmod(now_ms, 2000) >= 1000 ? 2 : 1);
}

static bool dropped(struct path *path, enum kind kind, double now_ms, double queue_ms)
{
    path->mean_queue_ms += (queue_ms - path->mean_queue_ms) / 300;
    switch (kind) {
    case TAIL: /* the queue holds a fixed number of octets, however long they take */
        return (queue_ms / work_ms(path, now_ms) + 1) * part_ms > full_ms;
    case MANAGED:
        return queue_ms > 5 && even(path) < 0.0004 * (queue_ms - 5);
    case LAGGING:
        return path->mean_queue_ms > 2 && even(path) < 0.002 * (path->mean_queue_ms - 2);
    case BEFORE:
    case BEHIND:
        return even(path) < 0.004;
    case BURSTS: /* bursts of 20 parts on average, which last 5 ms; some last more than 10 ms */
        path->bursts = even(path) < (path->bursts ? 0.95 : 0.002);
        return path->bursts;
    case FULL_OUTAGE:
        return queue_ms + part_ms > full_ms || (now_ms > outage_ms && now_ms < outage_ms + 18);
    default:
        return now_ms > outage_ms && now_ms < outage_ms + 200;
    }
}

/* In an outage, a sender uses up its window and tries again later. */
static double after_the_window_ms(enum kind kind, double now_ms)
{
    double out_ms = kind == OUTAGE ? 100 : 12, again_ms = kind == OUTAGE ? 240 : 20;
    bool waits =
        (kind == OUTAGE || kind == FULL_OUTAGE) && now_ms > outage_ms + out_ms && now_ms < outage_ms + again_ms;
    return waits ? outage_ms + again_ms : now_ms;
}

/* The time until the sender sends the next part. Normally it overloads the bottleneck; after a loss it slows down a
 * round trip later. PROBING ignores losses: two rounds at twice the rate, then the queue empties; from then on, of
 * eight rounds one is a quarter faster and the next one a quarter slower. STANDING also ignores losses: ten rounds with
 * a queue of 10 ms and more. */
static double interval_ms(const struct path *path, enum control control, double now_ms, double lost_ms)
{
    double round = now_ms / rtt_ms, phase = fmod(round, 8);
    bool recovers = now_ms > lost_ms + rtt_ms && now_ms < lost_ms + 3 * rtt_ms;
    if (control == PROBING && round < 6)
        return round < 2 ? part_ms / 2 : part_ms * 2;
    if (control == PROBING)
        return phase < 1 ? part_ms / 1.25 : phase < 2 ? part_ms / 0.75 : part_ms / 0.99;
    if (control == STANDING)
        return fmod(round, 10) < 2.5 ? part_ms * 0.9 : fmod(round, 10) < 9.5 ? part_ms : part_ms * 2;
    if (recovers)
        return part_ms * 1.3;
    return control == SAWTOOTH ? part_ms / 1.04 : path->n < 400 ? part_ms / 2 : part_ms / 1.01;
}

static void send(struct path *path, enum kind kind, enum control control, double late_ms, uint64_t seed)
{
    double now_ms = 0, free_ms = 0, lost_ms = -1e9;
    pl_time_spans_free(&path->down);
    *path = (struct path){.state = seed,
                          .changes = path->changes,
                          .t = {.min_rtt_ns = 40 * MS, .receiver_last_ns = INT64_MAX, .low_delay_ns = 0}};
    for (; path->n < PARTS; path->n++) {
        double queue_ms = fmax(free_ms - now_ms, 0);
        bool drop = dropped(path, kind, now_ms, queue_ms);
        if (!drop || kind == BEHIND)
            free_ms = now_ms + queue_ms + work_ms(path, now_ms);
        double sent_ms = now_ms + fmin(late(path, late_ms), delay_ms);
        double received_ms = free_ms + delay_ms + late(path, late_ms);
        path->parts[path->n] = (struct pl_segment){.seq = path->n * LEN,
                                                   .len = LEN,
                                                   .t_sent_ns = (int64_t)(sent_ms * 1e6),
                                                   .t_received_ns = drop ? -1 : (int64_t)(received_ms * 1e6),
                                                   .box_fate = PL_NO_FATE,
                                                   .t_box_exit_ns = -1};
        if (drop && now_ms > lost_ms + 3 * rtt_ms)
            lost_ms = now_ms;
        path->lost += drop;
        double interval = interval_ms(path, control, now_ms, lost_ms) * work_ms(path, now_ms) / part_ms;
        now_ms = after_the_window_ms(kind, now_ms + interval);
    }
    path->t.low_delay_ns = (int64_t)((delay_ms + part_ms) * 1e6);
}

static void keep(void *context, const struct pl_loss *row)
{
    struct path *path = context;
    enum pl_loss_cause cause = (enum pl_loss_cause)row->seen_cause;
    bool chance = path->truth == PL_LOSS_BEFORE || path->truth == PL_LOSS_BEHIND;
    path->unknown += cause == PL_LOSS_UNKNOWN;
    path->right += cause == path->truth || (chance && cause == PL_LOSS_ANYWHERE);
    path->wrong += cause != PL_LOSS_UNKNOWN && cause != path->truth && !(chance && cause == PL_LOSS_ANYWHERE);
    if (path->row_n < LOSSES)
        path->rows[path->row_n++] = *row;
}

static void judge(struct path *path)
{
    struct pl_service service = {.n = 0};
    struct pl_loss_study study;
    struct pl_loss_causes causes;
    double service_ns;
    for (size_t i = 0; i < path->n; i++)
        if (path->parts[i].t_received_ns >= 0)
            CHECK_EQ(pl_service_add(&service, &path->parts[i], path->t.low_delay_ns, path->t.low_delay_ns), 0);
    service_ns = pl_service_end(&service);
    CHECK_EQ(pl_loss_study_begin(&study, &path->t, service_ns), 0);
    study.uneven = service.slow > PL_VARIES * service_ns;
    for (size_t i = 0; i < path->n; i++) {
        bool lost = path->parts[i].t_received_ns < 0;
        CHECK_EQ(lost ? pl_loss_study_loss(&study, &path->parts[i], 0) : pl_loss_study_arrival(&study, &path->parts[i]),
                 0);
        if (lost)
            CHECK_EQ(PL_APPEND(&path->t.lost_runs, (uint32_t)study.runs.n - 1), 0);
    }
    CHECK_EQ(pl_loss_judge(&study), 0);
    pl_time_spans_free(&path->down);
    pl_loss_causes_begin(&causes, &path->t, &study, &path->down, keep, path);
    for (size_t i = 0; i < path->n; i++)
        CHECK_EQ(pl_loss_causes_add(&causes, &path->parts[i]), 0);
    CHECK_EQ(pl_loss_causes_end(&causes), 0);
    pl_loss_study_free(&study);
    free(path->t.lost_runs.at);
    path->t.lost_runs.at = NULL;
}

/* At most 5 % of the losses have a wrong cause, and at least `least` % the right one. */
static void check_row(enum kind kind, enum control control, enum pl_loss_cause truth, double late_ms, unsigned least)
{
    static struct path path;
    size_t lost = 0, right = 0, wrong = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        send(&path, kind, control, late_ms, seed * UINT64_C(0x9e3779b97f4a7c15));
        path.truth = truth;
        judge(&path);
        CHECK_EQ(path.right + path.wrong + path.unknown, path.lost);
        lost += path.lost;
        right += path.right;
        wrong += path.wrong;
    }
    if (!(lost >= 15 && wrong * 20 <= lost && right * 100 >= least * lost))
        fprintf(stderr, "kind %d, control %d, %g ms late: of %zu %zu right, %zu wrong\n", kind, control, late_ms, lost,
                right, wrong);
    CHECK(lost >= 15 && wrong * 20 <= lost && right * 100 >= least * lost);
}

static void causes_are_right_or_unknown_however_late_time_stamps_are(void)
{
    static const double late_ms[] = {0, 1, 3};
    static const struct {
        enum kind kind;
        enum pl_loss_cause truth;
        unsigned least;
    } rows[] = {{TAIL, PL_LOSS_TAIL_DROP, 80},
                {MANAGED, PL_LOSS_AQM, 80},
                {LAGGING, PL_LOSS_AQM, 80},
                {BEFORE, PL_LOSS_BEFORE, 35},
                {BEHIND, PL_LOSS_BEHIND, 35}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (enum control control = STEADY; control <= PROBING; control++)
            for (size_t j = 0; j < sizeof late_ms / sizeof *late_ms; j++)
                check_row(rows[i].kind, control, rows[i].truth, late_ms[j], j == 0 ? rows[i].least : 0);
}

/* A full queue takes half as long while the line is twice as fast. So a full queue is then not the longest one. This is
 * neither queue management nor chance. */
static void a_full_queue_before_a_line_whose_rate_changes_has_no_other_name(void)
{
    static struct path path;
    for (enum control control = STEADY; control <= STANDING; control++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            path.changes = true;
            send(&path, TAIL, control, 0, seed);
            path.truth = PL_LOSS_TAIL_DROP;
            judge(&path);
            CHECK(path.lost >= 15);
            CHECK_EQ(path.wrong, 0);
        }
    path.changes = false;
}

static void tail_drops_are_told_from_queue_management_with_3_ms_of_noise(void)
{
    check_row(TAIL, PROBING, PL_LOSS_TAIL_DROP, 3, 80);
    check_row(TAIL, SAWTOOTH, PL_LOSS_TAIL_DROP, 3, 80);
}

static void a_time_in_which_nothing_arrives_is_an_outage(void)
{
    static struct path path;
    send(&path, OUTAGE, SAWTOOTH, 0, 1);
    path.truth = PL_LOSS_OUTAGE;
    judge(&path);
    CHECK(path.lost > 100);
    CHECK_EQ(path.right, path.lost);
    CHECK_EQ(path.rows[0].run, path.lost);
    CHECK_EQ(path.down.list.n, 1);
    CHECK_EQ(path.down.list.at[0].t0_ns, path.rows[0].t_sent_ns);
    CHECK_EQ(path.down.list.at[0].t1_ns, path.rows[path.lost - 1].t_sent_ns);
}

/* Other connections to the same host lost parts at the same time, or their parts arrived, or they sent none. The
 * evidence of all together applies to each connection, even if it lost little itself. */
static void an_outage_is_the_silence_of_all_connections(void)
{
    static struct path path;
    struct pl_silence at = {
        .span = {999 * MS, 1240 * MS}, .first_lost_ns = 1060 * MS, .last_lost_ns = 1090 * MS, .lost = 500};
    const struct pl_silences silences = {.list = {.at = &at, .n = 1}}, none = {.list = {.n = 0}};
    for (unsigned i = 0; i < 3; i++) {
        send(&path, OUTAGE, SAWTOOTH, 0, 1);
        path.truth = PL_LOSS_OUTAGE;
        path.t.silent = i < 2 ? &silences : &none;
        at.outage = i == 0;
        judge(&path);
        CHECK_EQ(path.row_n, path.lost);
        for (size_t row = 0; row < path.row_n; row++) {
            int64_t t_ns = path.rows[row].t_sent_ns;
            bool outage = i == 0 && t_ns >= 1060 * MS && t_ns <= 1090 * MS;
            CHECK_EQ(path.rows[row].seen_cause, outage ? PL_LOSS_OUTAGE : PL_LOSS_UNKNOWN);
        }
        CHECK_EQ(path.down.list.n, i == 0);
        CHECK(i > 0 || path.down.list.at[0].t1_ns - path.down.list.at[0].t0_ns <= 30 * MS);
    }
}

static void one_lost_part_in_an_outage_of_all_is_of_the_outage(void)
{
    static struct path path;
    struct pl_silence at = {
        .span = {249 * MS, 300 * MS}, .first_lost_ns = 250 * MS, .last_lost_ns = 270 * MS, .lost = 40, .outage = true};
    const struct pl_silences silences = {.list = {.at = &at, .n = 1}};
    send(&path, OUTAGE, SAWTOOTH, 0, 1);
    path.n = 3000;
    path.t.silent = &silences;
    for (size_t i = 0, lost = 0; i < path.n && !lost; i++)
        if (path.parts[i].t_sent_ns >= 255 * MS) {
            path.parts[i].t_received_ns = -1;
            lost = 1;
        }
    judge(&path);
    CHECK_EQ(path.row_n, 1);
    CHECK_EQ(path.rows[0].seen_cause, PL_LOSS_OUTAGE);
}

/* 60 parts in a row are lost. After that the sender continues at its pace, or after a pause. Without a pause, it may
 * have been a burst of losses. */
static void a_burst_at_the_senders_pace_is_not_named(void)
{
    static struct path path;
    enum { LOST = 60 };
    for (unsigned waits = 0; waits < 2; waits++) {
        send(&path, OUTAGE, SAWTOOTH, 0, 1);
        path.n = 3000;
        path.truth = PL_LOSS_OUTAGE;
        for (size_t i = 1000; i < path.n; i++) {
            bool lost = i < 1000 + LOST;
            path.parts[i].t_sent_ns += waits && !lost ? 30 * MS : 0;
            path.parts[i].t_received_ns = lost ? -1 : path.parts[i].t_received_ns + (waits ? 30 * MS : 0);
        }
        judge(&path);
        CHECK_EQ(path.row_n, LOST);
        CHECK_EQ(path.right, waits ? LOST : 0);
        CHECK_EQ(path.wrong, 0);
    }
}

/* A fault drops 60 packets because of their contents. Half a second later it drops their retransmissions, too. */
static void the_same_octets_lost_twice_are_no_outage(void)
{
    static struct path path;
    enum { LOST = 60 };
    for (unsigned same = 0; same < 2; same++) {
        send(&path, OUTAGE, SAWTOOTH, 0, 1);
        path.n = 3400;
        path.lost = 2 * LOST;
        path.truth = PL_LOSS_OUTAGE;
        for (size_t i = 1000; i < path.n; i++) { /* a pause of 30 ms behind each */
            bool lost = (i < 1000 + LOST) || (i >= 3000 && i < 3000 + LOST);
            int64_t later_ns = ((i >= 1000 + LOST) + (i >= 3000 + LOST)) * 30 * MS;
            path.parts[i].t_sent_ns += later_ns;
            path.parts[i].t_received_ns = lost ? -1 : path.parts[i].t_received_ns + later_ns;
            if (lost && i >= 3000)
                path.parts[i].seq = path.parts[(same ? 1000 : 2000) + i - 3000].seq;
        }
        judge(&path);
        CHECK_EQ(path.row_n, path.lost);
        CHECK_EQ(path.right, same ? 0 : path.lost);
    }
}

/* A random burst drops a number of packets, whatever time they take. The lengths of short bursts show how long other
 * bursts may be. */
static void a_long_burst_among_short_ones_is_no_outage(void)
{
    static struct path path;
    size_t lost = 0, outage = 0, longest = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        send(&path, BURSTS, SAWTOOTH, 0, seed * UINT64_C(0x9e3779b97f4a7c15));
        path.truth = PL_LOSS_OUTAGE;
        judge(&path);
        lost += path.lost;
        outage += path.right;
        for (size_t row = 0; row < path.row_n; row++)
            longest = path.rows[row].run > longest ? path.rows[row].run : longest;
    }
    if (outage * 20 > lost)
        fprintf(stderr, "of %zu lost %zu in an outage; the longest run has %zu\n", lost, outage, longest);
    CHECK(longest > 60);
    CHECK(outage * 20 <= lost);
}

/* Before the outage of 18 ms the queue is full (24 ms), and after it the queue is not yet empty. */
static void an_outage_while_a_queue_drains_is_told_from_a_full_queue(void)
{
    static struct path path;
    size_t of_outage = 0, named = 0;
    send(&path, FULL_OUTAGE, SAWTOOTH, 0, 1);
    path.truth = PL_LOSS_TAIL_DROP;
    judge(&path);
    CHECK(path.lost > 100 && path.row_n == path.lost);
    for (size_t i = 0; i < path.row_n; i++) {
        const struct pl_loss *row = &path.rows[i];
        bool here = row->run > 20;
        of_outage += here;
        named += row->seen_cause == (here ? PL_LOSS_OUTAGE : PL_LOSS_TAIL_DROP);
    }
    CHECK(of_outage > 40);
    CHECK(path.lost - named <= 4); /* at the beginning of the outage the queue is still full */
}

/* Nearly all places have a queue, so every lost part met one. But the bottleneck had transmitted the lost parts. */
static void chance_behind_a_standing_queue_shows_by_the_bottlenecks_time(void)
{
    static struct path path;
    send(&path, BEHIND, STANDING, 0, 1);
    path.n = 3000;
    judge(&path);
    CHECK(path.row_n >= 5);
    for (size_t i = 0; i < path.row_n; i++)
        CHECK_EQ(path.rows[i].seen_cause, PL_LOSS_BEHIND);
}

/* For a single loss there is only one queue to judge by, and it may have any length. */
static void one_loss_shows_no_cause(void)
{
    static struct path path;
    send(&path, OUTAGE, SAWTOOTH, 0, 1);
    path.parts[2000].t_received_ns = -1;
    path.n = 3000;
    judge(&path);
    CHECK_EQ(path.row_n, 1);
    CHECK_EQ(path.rows[0].seen_cause, PL_LOSS_UNKNOWN);
    CHECK(path.rows[0].queue_ns >= 0);
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
        {FATE_OUTAGE, -1, PL_LOSS_OUTAGE},      {FATE_MEMORY, -1, PL_LOSS_EMULATOR},
        {PL_NO_FATE, -1, PL_LOSS_UNKNOWN},      {FATE_PACE, 5 * MS, PL_LOSS_TAIL_DROP},
        {FATE_DRAIN, 5 * MS, PL_LOSS_RECEIVER}, {FATE_POLICER, -1, PL_LOSS_POLICER},
    };
    static struct path path;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        send(&path, OUTAGE, SAWTOOTH, 0, 1);
        path.parts[2000].t_received_ns = -1;
        path.parts[2000].box_fate = rows[i].fate;
        path.parts[2000].t_box_exit_ns = rows[i].exit_ns;
        path.n = 3000;
        path.t.ruled_out = 1U << PL_LOSS_OUTAGE;
        judge(&path);
        CHECK_EQ(path.rows[0].cause, rows[i].cause);
        CHECK_EQ(path.rows[0].seen_cause, PL_LOSS_UNKNOWN);
    }
}

/* Other traffic fills the queue. The captures of this connection alone show only a part of that queue. */
static void the_boxs_record_says_how_long_the_queue_was(void)
{
    static struct path path;
    static const struct pl_flow flow = {.ip_version = 4};
    struct pl_line_step step = {.rate_bps = 48000000, .packets_per_s = INFINITY};
    const struct pl_line line = {.steps = {.at = &step, .n = 1}};
    send(&path, OUTAGE, SAWTOOTH, 0, 1);
    path.n = 3000;
    path.t.line = &line;
    path.t.flow = &flow;
    path.parts[2000].t_received_ns = -1;
    for (size_t i = 1999; i <= 2001; i += 2) {
        path.parts[i].t_box_in_ns = path.parts[i].t_sent_ns;
        path.parts[i].t_box_exit_ns = path.parts[i].t_sent_ns + (i < 2000 ? 30 : 20) * MS;
    }
    judge(&path);
    CHECK_EQ(path.row_n, 1);
    CHECK_EQ(path.rows[0].queue_ns, 30 * MS - (LEN + 40) * 8 * INT64_C(1000) / 48);
}

/* If the path has no queue management, this is never named as the cause, even if the queues look like it. */
static void what_the_path_cannot_have_is_not_seen(void)
{
    static struct path path;
    send(&path, MANAGED, SAWTOOTH, 0, 1);
    path.truth = PL_LOSS_AQM;
    path.t.ruled_out = 1U << PL_LOSS_AQM;
    judge(&path);
    CHECK(path.lost > 10 && path.right == 0);
    send(&path, OUTAGE, SAWTOOTH, 0, 1);
    path.truth = PL_LOSS_OUTAGE;
    path.t.ruled_out = 1U << PL_LOSS_OUTAGE;
    judge(&path);
    CHECK(path.lost > 100 && path.right == 0);
    CHECK_EQ(path.down.list.n, 0);
}

static void what_the_path_cannot_have_is_ruled_out(void)
{
    const unsigned chance = 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND,
                   rest = 1U << PL_LOSS_OUTAGE | 1U << PL_LOSS_RECEIVER | 1U << PL_LOSS_POLICER;
    CHECK_EQ(pl_loss_possible(PL_LOSS_AQM, 0), PL_LOSS_AQM);
    CHECK_EQ(pl_loss_possible(PL_LOSS_UNKNOWN, 0), PL_LOSS_UNKNOWN);
    CHECK_EQ(pl_loss_possible(PL_LOSS_CAPTURE, chance), PL_LOSS_CAPTURE);
    CHECK_EQ(pl_loss_possible(PL_LOSS_ANYWHERE, 0), PL_LOSS_ANYWHERE);
    CHECK_EQ(pl_loss_possible(PL_LOSS_ANYWHERE, 1U << PL_LOSS_BEHIND), PL_LOSS_BEFORE);
    CHECK_EQ(pl_loss_possible(PL_LOSS_ANYWHERE, chance), PL_LOSS_UNKNOWN);
    CHECK_EQ(pl_loss_possible(PL_LOSS_AQM, 1U << PL_LOSS_AQM), PL_LOSS_UNKNOWN);
    CHECK_EQ(pl_loss_possible(PL_LOSS_AQM, 1U << PL_LOSS_AQM | chance | rest), PL_LOSS_TAIL_DROP);
    CHECK_EQ(pl_loss_possible(PL_LOSS_UNKNOWN, 1U << PL_LOSS_AQM | chance | rest), PL_LOSS_TAIL_DROP);
    CHECK_EQ(pl_loss_possible(PL_LOSS_UNKNOWN, 1U << PL_LOSS_AQM | 1U << PL_LOSS_TAIL_DROP | rest), PL_LOSS_ANYWHERE);
}

int main(void)
{
    RUN(causes_are_right_or_unknown_however_late_time_stamps_are);
    RUN(a_full_queue_before_a_line_whose_rate_changes_has_no_other_name);
    RUN(tail_drops_are_told_from_queue_management_with_3_ms_of_noise);
    RUN(a_time_in_which_nothing_arrives_is_an_outage);
    RUN(an_outage_is_the_silence_of_all_connections);
    RUN(one_lost_part_in_an_outage_of_all_is_of_the_outage);
    RUN(a_burst_at_the_senders_pace_is_not_named);
    RUN(the_same_octets_lost_twice_are_no_outage);
    RUN(a_long_burst_among_short_ones_is_no_outage);
    RUN(an_outage_while_a_queue_drains_is_told_from_a_full_queue);
    RUN(chance_behind_a_standing_queue_shows_by_the_bottlenecks_time);
    RUN(one_loss_shows_no_cause);
    RUN(the_boxs_record_decides_where_there_is_one);
    RUN(the_boxs_record_says_how_long_the_queue_was);
    RUN(what_the_path_cannot_have_is_ruled_out);
    RUN(what_the_path_cannot_have_is_not_seen);
    return 0;
}
