/* Verdicts on transfers whose limits, losses and other traffic are given. */
#include "transfer_verdict.h"

#include <math.h>

#include "check.h"

#define SECOND INT64_C(1000000000)
#define MBIT 1e6
enum { MSS = 1448 };

static struct pl_line_step step = {.rate_bps = 40 * MBIT, .packets_per_s = INFINITY};

/* Ten seconds over a line of 40 Mbit/s, a round trip of 20 ms. */
static struct pl_transfer transfer(const struct pl_flow *flow, const struct pl_line *line, double rate_bps)
{
    return (struct pl_transfer){.flow = flow,
                                .line = line,
                                .ends = PL_BOTH_ENDS,
                                .mss = MSS,
                                .hosts_bps = INFINITY,
                                .segments = 10000,
                                .bytes = (uint64_t)(rate_bps * 10 / 8),
                                .first_ns = SECOND,
                                .last_ns = 11 * SECOND,
                                .min_rtt_ns = SECOND / 50,
                                .scale_known = true};
}

static struct pl_line line_of_40(bool per_flow)
{
    return (struct pl_line){.steps = {.at = &step, .n = 1}, .per_flow = per_flow};
}

static void says(const struct pl_verdict *v, const char *text, bool there)
{
    if ((strstr(v->text, text) != NULL) != there)
        fprintf(stderr, "%s\n", v->text);
    CHECK((strstr(v->text, text) != NULL) == there);
}

/* Packets are lost to a full queue, to a managed queue or to chance, while other connections carry half as much as the
 * transfer. */
static void a_line_that_is_shared_was_busy_and_shared_for_most_of_the_time(void)
{
    static const struct {
        double rate, others;
        int64_t others_s;
        enum pl_loss_cause lost;
        bool shared;
    } rows[] = {
        {24, 12, 10, PL_LOSS_TAIL_DROP, true}, {15, 7.5, 10, PL_LOSS_TAIL_DROP, false},
        {24, 12, 4, PL_LOSS_TAIL_DROP, false}, {24, 7, 10, PL_LOSS_TAIL_DROP, false},
        {24, 12, 10, PL_LOSS_AQM, true},       {15, 7.5, 10, PL_LOSS_AQM, false},
        {24, 12, 10, PL_LOSS_BEHIND, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(false);
        struct pl_transfer t = transfer(&flow, &line, rows[i].rate * MBIT);
        t.limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE] = 7 * SECOND;
        t.limit_ns[PL_LIMIT_PATH_RATE] = 3 * SECOND;
        t.lost = t.loss_causes[rows[i].lost] = 20;
        t.signs.others = 1;
        t.signs.others_bps = rows[i].others * MBIT;
        t.signs.others_ns = rows[i].others_s * SECOND;
        struct pl_verdict v = pl_verdict_of(&t);
        CHECK_STR(pl_verdict_name(&v), rows[i].shared ? "cross_traffic" : "losses");
    }
}

/* A verdict of cross traffic: its share does not include time without other traffic. */
static void others_limit_for_no_longer_than_they_are_there(void)
{
    const struct pl_flow flow = {.ip_version = 4};
    const struct pl_line line = line_of_40(false);
    struct pl_transfer t = transfer(&flow, &line, 24 * MBIT);
    t.limit_ns[PL_LIMIT_PATH_RATE] = 10 * SECOND;
    t.signs.others = 1;
    t.signs.others_bps = 12 * MBIT;
    t.signs.others_ns = 6 * SECOND;
    struct pl_verdict v = pl_verdict_of(&t);
    CHECK_STR(pl_verdict_name(&v), "cross_traffic");
    says(&v, "limited for 60 % of the time", true);
}

static void where_no_line_is_known_unknown_losses_are_no_sign_of_others(void)
{
    const struct pl_flow flow = {.ip_version = 4};
    struct pl_transfer t = transfer(&flow, NULL, 24 * MBIT);
    t.limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE] = 10 * SECOND;
    t.lost = t.loss_causes[PL_LOSS_UNKNOWN] = 20;
    t.signs.others = 1;
    t.signs.others_bps = 20 * MBIT;
    t.signs.others_ns = 10 * SECOND;
    struct pl_verdict v = pl_verdict_of(&t);
    CHECK_STR(pl_verdict_name(&v), "losses");
}

/* Packets of others are between all arrivals, so none of the transfer's own rows keep the bottleneck busy. But a few
 * packets follow each other at once: a full packet of 1,500 octets in 0.3 ms means 38.6 Mbit/s of payload. */
static void neighbouring_arrivals_show_the_rate_of_a_line_that_others_divide(void)
{
    static const struct {
        double others;
        bool shared;
    } rows[] = {{10, true}, {4, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pl_flow flow = {.ip_version = 4};
        struct pl_transfer t = transfer(&flow, NULL, 20 * MBIT);
        t.limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE] = 10 * SECOND;
        t.lost = t.loss_causes[PL_LOSS_AQM] = 20;
        t.serial_ns = 200;
        t.signs.others = 1;
        t.signs.others_bps = rows[i].others * MBIT;
        t.signs.others_ns = 10 * SECOND;
        struct pl_verdict v = pl_verdict_of(&t);
        CHECK_STR(pl_verdict_name(&v), rows[i].shared ? "cross_traffic" : "losses");
    }
}

static void streams_of_one_transfer_are_not_cross_traffic(void)
{
    for (unsigned strangers = 0; strangers < 2; strangers++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(false);
        struct pl_transfer t = transfer(&flow, &line, 9 * MBIT);
        t.limit_ns[PL_LIMIT_PATH_RATE] = 10 * SECOND;
        t.signs.streams = 3;
        t.signs.streams_bps = 18 * MBIT;
        t.signs.others = 3 + strangers;
        t.signs.others_bps = (18 + 10 * strangers) * MBIT;
        t.signs.others_ns = strangers * 10 * SECOND;
        struct pl_verdict v = pl_verdict_of(&t);
        CHECK_STR(pl_verdict_name(&v), strangers ? "cross_traffic" : "path_rate");
        says(&v, "1 other connection of the captures carried 10 Mbit/s", strangers);
    }
}

/* Max-min fairness: an equal share of the line, or what the others leave. 40 Mbit/s of IP packets are 38.9 Mbit/s of
 * payload. */
static void a_window_is_to_fill_the_share_of_a_line_that_gives_shares(void)
{
    static const struct {
        double others_bps;
        uint32_t others;
        bool per_flow;
        const char *text;
    } rows[] = {{30 * MBIT, 3, true, "23.8 KB would fill its share of this path, about 9.73 Mbit/s"},
                {10 * MBIT, 1, true, "70.6 KB would fill its share of this path, about 28.9 Mbit/s"},
                {0, 0, true, "95 KB would fill this path, which carries 38.9 Mbit/s of payload"},
                {10 * MBIT, 1, false, "95 KB would fill this path, which carries 38.9 Mbit/s of payload"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(rows[i].per_flow);
        struct pl_transfer t = transfer(&flow, &line, 8 * MBIT);
        t.window_max = 20 * 1024;
        t.limit_ns[PL_LIMIT_RECEIVER_WINDOW] = 10 * SECOND;
        t.signs.others = rows[i].others;
        t.signs.others_bps = rows[i].others_bps;
        struct pl_verdict v = pl_verdict_of(&t);
        says(&v, rows[i].text, true);
    }
}

/* A line of 40 Mbit/s behind a policer of 25: at most 24.3 Mbit/s of payload pass, whatever limits the transfer, unless
 * the policer only marks. */
static void a_policer_bounds_what_the_path_carries(void)
{
    for (unsigned marks = 0; marks < 2; marks++) {
        const struct pl_flow flow = {.ip_version = 4};
        struct pl_line line = line_of_40(false);
        line.policed_bps = 25 * MBIT;
        line.police_marks = marks; /* this connection is not ECN-capable */
        struct pl_transfer t = transfer(&flow, &line, 6 * MBIT);
        t.limit_ns[PL_LIMIT_FAST_RECOVERY] = 10 * SECOND;
        t.lost = 200;
        t.loss_causes[PL_LOSS_POLICER] = 200;
        struct pl_verdict lossy = pl_verdict_of(&t);
        says(&lossy, "The path carries 24.3 Mbit/s of payload", true);
        struct pl_transfer slow = transfer(&flow, &line, 8 * MBIT);
        slow.window_max = 20 * 1024;
        slow.limit_ns[PL_LIMIT_RECEIVER_WINDOW] = 10 * SECOND;
        struct pl_verdict windowed = pl_verdict_of(&slow);
        says(&windowed, "would fill this path, which carries 24.3 Mbit/s of payload", true);
    }
}

static void a_control_that_sets_a_rate_is_not_advised_to_grow_its_window_faster(void)
{
    for (unsigned rate = 0; rate < 2; rate++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(false);
        struct pl_transfer t = transfer(&flow, &line, 15 * MBIT);
        t.limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE] = 10 * SECOND;
        t.sets_rate = rate;
        struct pl_verdict v = pl_verdict_of(&t);
        says(&v, "grows faster", !rate);
        says(&v, "sets a rate", rate);
    }
}

/* The advice against losses is a rate-based control. This sender already has one, so the advice is left out. */
static void a_control_that_sets_a_rate_is_not_advised_to_become_one(void)
{
    static const struct {
        enum pl_loss_cause cause;
        const char *text;
    } rows[] = {{PL_LOSS_BEFORE, "tcp_congestion_control = bbr"}, {PL_LOSS_TAIL_DROP, "pace its packets"}};
    for (unsigned i = 0; i < 4; i++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(false);
        struct pl_transfer t = transfer(&flow, &line, 15 * MBIT);
        t.limit_ns[PL_LIMIT_FAST_RECOVERY] = 10 * SECOND;
        t.lost = t.fast_recoveries = t.loss_causes[rows[i / 2].cause] = 20;
        t.sets_rate = i % 2;
        struct pl_verdict v = pl_verdict_of(&t);
        says(&v, rows[i / 2].text, !t.sets_rate);
        says(&v, "TCP Reno reaches", !t.sets_rate);
    }
}

/* The names under which the verdict counts limits, for programs that add up the times of several connections. */
static void a_limit_counts_in_the_verdict_under_one_name(void)
{
    const struct pl_flow flow = {.ip_version = 4};
    const struct pl_line line = line_of_40(false);
    struct pl_transfer t = transfer(&flow, &line, 24 * MBIT);
    t.limit_ns[PL_LIMIT_RECEIVER_WINDOW] = 3 * SECOND;
    t.limit_ns[PL_LIMIT_ZERO_WINDOW] = 3 * SECOND;
    t.limit_ns[PL_LIMIT_TIMEOUT] = 3 * SECOND;
    t.limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE] = 4 * SECOND;
    struct pl_verdict v = pl_verdict_of(&t);
    CHECK_STR(pl_verdict_name(&v), "receiver_window");
    CHECK_STR(pl_verdict_counts_as(&t, PL_LIMIT_ZERO_WINDOW), "receiver_window");
    CHECK_STR(pl_verdict_counts_as(&t, PL_LIMIT_TIMEOUT), "timeout");
    t.lost = 1;
    v = pl_verdict_of(&t);
    CHECK_STR(pl_verdict_name(&v), "losses");
    CHECK(fabs(v.share - 7.0 / 13) < 1e-9);
    CHECK_STR(pl_verdict_counts_as(&t, PL_LIMIT_TIMEOUT), "losses");
    CHECK_STR(pl_verdict_counts_as(&t, PL_LIMIT_CONGESTION_AVOIDANCE), "losses");
    CHECK_STR(pl_verdict_counts_as(&t, PL_LIMIT_PATH_RATE), "path_rate");
}

/* A window of 400 KB over a line that carries 100 KB per round trip. Late acknowledgements are not the cause if the
 * line is busy all the time, if others fill it, if the reader is slow, or if the line's rate is only known from the
 * transfer itself. */
static void a_window_that_holds_more_than_the_path_limits_while_acknowledgements_wait(void)
{
    static const struct {
        double rate, others;
        int64_t wait_ms, closed_s;
        uint32_t window;
        const char *name;
    } rows[] = {{30, 0, 12, 0, 400000, "way_back"},         {30, 0, 8, 0, 400000, "receiver_window"},
                {30, 0, 12, 0, 80000, "receiver_window"},   {37.5, 0, 12, 0, 400000, "receiver_window"},
                {15, 23, 12, 0, 400000, "receiver_window"}, {30, 0, 12, 6, 400000, "slow_reader"},
                {15, 0, 25, 0, 40000, "way_back"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(false);
        struct pl_transfer t = transfer(&flow, &line, rows[i].rate * MBIT);
        t.limit_ns[PL_LIMIT_ZERO_WINDOW] = rows[i].closed_s * SECOND;
        t.limit_ns[PL_LIMIT_RECEIVER_WINDOW] = (9 - rows[i].closed_s) * SECOND;
        t.limit_ns[PL_LIMIT_PATH_RATE] = SECOND;
        t.window_max = rows[i].window;
        t.signs.ack_queue_ns = rows[i].wait_ms * SECOND / 1000;
        t.signs.others = rows[i].others > 0;
        t.signs.others_bps = rows[i].others * MBIT;
        struct pl_verdict v = pl_verdict_of(&t);
        CHECK_STR(pl_verdict_name(&v), rows[i].name);
    }
}

/* 50 KB per round trip of 20 ms are 20 Mbit/s; the path carries 38.9. Without losses, a window that may grow fills the
 * path. A window that the program fixed does not, and a window that was full at its largest for 80 ms does not
 * either. */
static void what_is_possible_is_no_more_than_a_fixed_window_allows(void)
{
    static const struct {
        uint32_t fixed;
        uint64_t full;
        int64_t full_ms;
        double possible;
    } rows[] = {{0, 0, 0, 40 * MBIT * MSS / (MSS + 40)},
                {50000, 0, 0, 20 * MBIT},
                {0, 5, 80, 20 * MBIT},
                {0, 5, 79, 40 * MBIT * MSS / (MSS + 40)},
                {0, 4, 80, 40 * MBIT * MSS / (MSS + 40)}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pl_flow flow = {.ip_version = 4};
        const struct pl_line line = line_of_40(false);
        struct pl_transfer t = transfer(&flow, &line, 15 * MBIT);
        t.limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE] = 9 * SECOND;
        t.limit_ns[PL_LIMIT_RECEIVER_WINDOW] = rows[i].full_ms * SECOND / 1000;
        t.lost = t.loss_causes[PL_LOSS_BEFORE] = 20;
        t.window_kept = 50000;
        t.window_fixed = rows[i].fixed;
        t.signs.shut = t.signs.shut_largest = rows[i].full;
        struct pl_verdict v = pl_verdict_of(&t);
        CHECK_STR(pl_verdict_name(&v), "losses");
        CHECK(fabs(v.then_bps - rows[i].possible) < 1);
        says(&v, "The receiver's window allows 20 Mbit/s at most: raise its buffer, too.", v.then_bps == 20 * MBIT);
    }
}

static void words_about_marks_follow_what_marks(void)
{
    static const char *const texts[] = {[PL_MARKER_UNKNOWN] = " The path marks packets",
                                        [PL_MARKER_AQM] = " Queue management marks packets",
                                        [PL_MARKER_POLICER] = " A policer marks what exceeds its rate"};
    for (unsigned marker = PL_MARKER_UNKNOWN; marker <= PL_MARKER_POLICER; marker++) {
        const struct pl_flow flow = {.ip_version = 4};
        struct pl_line line = line_of_40(false);
        line.marker = (enum pl_marker)marker;
        struct pl_transfer t = transfer(&flow, &line, 15 * MBIT);
        t.limit_ns[PL_LIMIT_ECN] = 9 * SECOND;
        struct pl_verdict v = pl_verdict_of(&t);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            says(&v, texts[i], i == marker);
    }
}

int main(void)
{
    RUN(a_line_that_is_shared_was_busy_and_shared_for_most_of_the_time);
    RUN(others_limit_for_no_longer_than_they_are_there);
    RUN(neighbouring_arrivals_show_the_rate_of_a_line_that_others_divide);
    RUN(where_no_line_is_known_unknown_losses_are_no_sign_of_others);
    RUN(streams_of_one_transfer_are_not_cross_traffic);
    RUN(a_window_is_to_fill_the_share_of_a_line_that_gives_shares);
    RUN(a_policer_bounds_what_the_path_carries);
    RUN(a_control_that_sets_a_rate_is_not_advised_to_grow_its_window_faster);
    RUN(a_control_that_sets_a_rate_is_not_advised_to_become_one);
    RUN(a_limit_counts_in_the_verdict_under_one_name);
    RUN(a_window_that_holds_more_than_the_path_limits_while_acknowledgements_wait);
    RUN(what_is_possible_is_no_more_than_a_fixed_window_allows);
    RUN(words_about_marks_follow_what_marks);
    return 0;
}
