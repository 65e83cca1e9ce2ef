/* Implements transfer_verdict.h. */
#include "transfer_verdict.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "losses.h"
#include "names.h"
#include "service.h"
#include "thresholds.h"

#define GBIT 1e9
#define SAME 1.001  /* rates that are written alike */
#define MATHIS 1.22 /* rate = MSS/RTT × 1.22/√p, p congestion signals a packet (Mathis, Semke, Mahdavi, Ott 1997) */

enum { USUAL_MSS = 1448 };

static void say(struct pl_verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct pl_verdict *v, const char *format, ...)
{
    size_t n = strlen(v->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(v->text + n, sizeof v->text - n, format, arguments);
    va_end(arguments);
}

/* "1500 B", "64 KB", "22.5 MB": 1 KB is 1,024 bytes. The units are those of netcommon/readable.py, because lfp prints
 * sizes from both next to each other. */
static const char *size_text(double bytes, char text[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
    unsigned unit = 0;
    if (bytes < 10 * 1024 && (uint64_t)bytes % 1024) {
        snprintf(text, 32, "%.0f B", bytes);
        return text;
    }
    for (; unit < 4 && bytes >= 1000; unit++) /* the bound keeps sizes within three digits */
        bytes /= 1024;
    snprintf(text, 32, "%.3g %s", bytes, units[unit]);
    return text;
}

static const char *rate_text(double bps, char text[32])
{
    snprintf(text, 32, "%.3g %s",
             bps / (bps >= 1e9   ? 1e9
                    : bps >= 1e6 ? 1e6
                                 : 1e3),
             bps >= 1e9   ? "Gbit/s"
             : bps >= 1e6 ? "Mbit/s"
                          : "kbit/s");
    return text;
}

/* Rounds a bound to three digits in the direction in which it stays true: a lower bound downwards, an upper bound
 * upwards. */
enum bound { LOWER = -1, UPPER = 1 };

static double rounded(double value, enum bound bound)
{
    double step = value > 0 ? pow(10, floor(log10(value)) - 2) : 1, digits = value / step;
    return step * (bound == LOWER ? floor(digits + 1e-9) : ceil(digits - 1e-9));
}

static const char *rate_bound(double bps, enum bound bound, char text[32])
{
    return rate_text(rounded(bps, bound), text);
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* Looks up the texts of a cause in the table of causes. */
static void say_advice(struct pl_verdict *v, enum pl_cause_list list, unsigned cause)
{
    size_t n;
    const struct pl_cause_row *rows = pl_cause_rows(list, &n);
    if (rows[cause].advice)
        say(v, " %s", rows[cause].advice);
}

static uint32_t payload_of(const struct pl_transfer *t)
{
    return t->mss ? t->mss : USUAL_MSS;
}

/* The payload per second that arrivals show, given the bottleneck's time for a byte. */
static double shown_bps(const struct pl_transfer *t, double service_ns)
{
    return 8e9 / service_ns * payload_of(t) / (payload_of(t) + PL_HEADERS);
}

static bool uses_ecn(const struct pl_transfer *t)
{
    enum pl_ecn_mode mode = pl_flow_ecn(t->flow);
    return mode == PL_ECN_CLASSIC || mode == PL_ECN_ACCURATE;
}

/* The payload per second that the path carries, or a bound of it. */
struct carried {
    double least_bps, mean_bps, most_bps; /* 0: not known */
    bool shown;                           /* only arrivals show it, so it is at most what the path carries */
};

static struct carried carried_by(const struct pl_transfer *t)
{
    if (pl_line_known(t->line)) {
        struct pl_line_rates line =
            pl_line_carries(t->line, t->first_ns, t->last_ns, payload_of(t), pl_transfer_headers(t));
        double policed = pl_line_policed(t->line, uses_ecn(t), payload_of(t), pl_transfer_headers(t));
        struct carried found = {fmin(line.least_bps, policed), fmin(line.mean_bps, policed),
                                fmin(line.most_bps, policed), false};
        if (isfinite(found.mean_bps))
            return found;
    }
    double shown = t->shown_service_ns > 0 ? shown_bps(t, t->shown_service_ns) : 0;
    return (struct carried){shown, shown, shown, true};
}

/* "57.9 Mbit/s of payload", "at least …", "between … and …". */
static const char *carried_text(const struct carried *carried, char text[96])
{
    char rate[32], most[32];
    bool varies = carried->most_bps > SAME * carried->least_bps;
    snprintf(text, 96, "%s%s%s%s of payload",
             carried->shown ? "at least "
             : varies       ? "between "
                            : "",
             carried->shown ? rate_bound(carried->mean_bps, LOWER, rate)
                            : rate_text(varies ? carried->least_bps : carried->mean_bps, rate),
             varies ? " and " : "", varies ? rate_text(carried->most_bps, most) : "");
    return text;
}

/* The rate that a connection can count on where a line has fair queueing: an equal share, or what the others leave if
 * that is more. */
static double share_bps(const struct pl_transfer *t, double line_bps)
{
    return fmax(line_bps / (t->signs.others + 1.0), line_bps - t->signs.others_bps);
}

static bool has_share(const struct pl_transfer *t)
{
    return pl_line_known(t->line) && t->line->per_flow && t->signs.others > 0;
}

/* The round trip without queues. The samples may not include a round trip over an empty path, especially with other
 * traffic on it. So it is the sum of the smallest delays of both directions, which may come from different round
 * trips. */
static int64_t free_rtt_ns(const struct pl_transfer *t)
{
    int64_t both_ns = t->base.least_ns + t->ack_base.least_ns;
    return t->ends == PL_BOTH_ENDS && both_ns > 0 && both_ns < t->min_rtt_ns ? both_ns : t->min_rtt_ns;
}

/* The largest window that the receiver keeps offering. */
static uint32_t offered(const struct pl_transfer *t)
{
    return t->window_kept ? t->window_kept : t->window_max;
}

/* The payload per second that the receiver's window allows if it does not grow: its program fixed it, or it was full at
 * its largest for several round trips. INFINITY: it may grow. */
static double window_bps(const struct pl_transfer *t)
{
    int64_t rtt_ns = free_rtt_ns(t);
    bool stayed =
        t->signs.shut_largest >= PL_LEAST_TIMES && t->limit_ns[PL_LIMIT_RECEIVER_WINDOW] >= PL_FIXED_TRIPS * rtt_ns;
    uint32_t most = t->window_fixed ? t->window_fixed : stayed ? offered(t) : 0;
    return most && rtt_ns > 0 ? 8.0 * most / seconds(rtt_ns) : INFINITY;
}

static bool is_window(const struct pl_verdict *v)
{
    return v->finding < 0 && v->cause == PL_LIMIT_RECEIVER_WINDOW;
}

/* The goodput that would be possible without the cause, if that exceeds the transfer's rate: the capacity of path and
 * hosts, and, unless the receiver's window is the cause, the rate that this window allows. A capacity inferred from
 * arrivals may be no more than the sender's own rate, plus a little by chance. 0: not known. */
static double possible_bps(const struct pl_verdict *v, const struct pl_transfer *t)
{
    struct carried carried = carried_by(t);
    double path_bps = has_share(t) ? share_bps(t, carried.mean_bps) : carried.mean_bps;
    double possible = fmin(path_bps, t->hosts_bps > 0 ? t->hosts_bps : INFINITY);
    if (possible <= (carried.shown || has_share(t) ? PL_CLEARLY : 1) * v->rate_bps)
        return 0;
    return is_window(v) ? possible : fmax(fmin(possible, window_bps(t)), v->rate_bps);
}

/* Advises to raise the receiver's window, too, if this is what keeps the possible rate below the path's. */
static void say_narrow_window(struct pl_verdict *v, const struct pl_transfer *t)
{
    char rate[32];
    if (v->then_bps > 0 && !is_window(v) && v->then_bps >= window_bps(t))
        say(v, " The receiver's window allows %s at most: raise its buffer, too.",
            rate_bound(window_bps(t), UPPER, rate));
}

/* States the window that the path needs, or the window needed per Gbit/s. */
static void say_window(struct pl_verdict *v, const struct pl_transfer *t)
{
    char size[32], rate[96];
    struct carried carried = carried_by(t);
    double rtt = seconds(free_rtt_ns(t));
    if (t->min_rtt_ns <= 0)
        return;
    v->then_bps = possible_bps(v, t);
    if (v->then_bps > 0 && has_share(t))
        say(v,
            " %s would fill its share of this path, about %s: each connection has a queue and a share of its own "
            "there.",
            size_text(share_bps(t, carried.mean_bps) * rtt / 8, size), rate_text(share_bps(t, carried.mean_bps), rate));
    else if (v->then_bps > 0 && carried.shown)
        say(v, " The path carries %s, which takes a window of %s.", carried_text(&carried, rate),
            size_text(carried.mean_bps * rtt / 8, size));
    else if (v->then_bps > 0)
        say(v, " %s would fill this path, which carries %s.", size_text(carried.mean_bps * rtt / 8, size),
            carried_text(&carried, rate));
    else if (carried.shown || carried.mean_bps <= 0)
        say(v, " What the path carries is not known; each Gbit/s of it needs %s.", size_text(GBIT * rtt / 8, size));
    say_narrow_window(v, t);
}

static void say_receiver_window(struct pl_verdict *v, const struct pl_transfer *t)
{
    char window[32], rate[32];
    const struct pl_flow *flow = t->flow;
    bool syns = flow->side[0].syn && flow->side[1].syn && !flow->side[0].cut && !flow->side[1].cut;
    bool offers[2] = {flow->side[t->dir].has_wscale, flow->side[!t->dir].has_wscale};
    uint32_t most = offered(t);
    if (most && t->min_rtt_ns > 0)
        say(v, " It offers at most %s, which in a round trip of %.4g ms is %s at most.", size_text(most, window),
            seconds(free_rtt_ns(t)) * 1e3, rate_bound(8.0 * most / seconds(free_rtt_ns(t)), UPPER, rate));
    if (syns && !(offers[0] && offers[1]))
        say(v,
            " Window scaling is off: the SYN of the %s does not offer it. Switch it on there "
            "(net.ipv4.tcp_window_scaling = 1), or in the firewall that strips it.",
            !offers[0] && !offers[1] ? "sender and the receiver"
            : offers[0]              ? "receiver"
                                     : "sender");
    else if (t->to_gateway)
        say(v, " The receiver is a gateway: raise its buffer for this connection.");
    else
        say_advice(v, PL_CAUSES_LIMITS, PL_LIMIT_RECEIVER_WINDOW);
    say_window(v, t);
}

/* The cause of most losses. */
static enum pl_loss_cause most_lost(const struct pl_transfer *t)
{
    int most = PL_LOSS_UNKNOWN;
    for (int i = 0; i < PL_LOSS_N; i++)
        if (i != PL_LOSS_CAPTURE && t->loss_causes[i] > t->loss_causes[most])
            most = i;
    return (enum pl_loss_cause)most;
}

/* Advice against queue management that drops packets. It does not name ECN where both ends already use it. */
static void say_managed(struct pl_verdict *v, const struct pl_transfer *t)
{
    if (!uses_ecn(t))
        say_advice(v, PL_CAUSES_LOSSES, PL_LOSS_AQM);
    else if (t->marks.ce_received || t->marks.ece_received || t->marks.ce_reported)
        say(v, " Queue management marks packets of this connection, which uses ECN, and drops where its queue grows "
               "past what it marks: a slower start, or a longer queue before it drops, avoids that.");
    else
        say(v, " Both ends use ECN, and queue management drops all the same: let it mark.");
}

/* Advice against losses. A rate-based congestion control paces its packets, and does not halve a window for a loss. */
static void say_loss_advice(struct pl_verdict *v, const struct pl_transfer *t, enum pl_loss_cause most)
{
    bool chance = most == PL_LOSS_BEFORE || most == PL_LOSS_BEHIND || most == PL_LOSS_ANYWHERE;
    if (most == PL_LOSS_AQM)
        say_managed(v, t);
    else if (t->sets_rate && chance)
        say(v, " Look for errors of the interfaces along the path (ethtool -S).");
    else if (t->sets_rate && most == PL_LOSS_TAIL_DROP)
        say(v, " Give the bottleneck a longer queue.");
    else
        say_advice(v, PL_CAUSES_LOSSES, most);
}

static void say_losses(struct pl_verdict *v, const struct pl_transfer *t)
{
    char rate[96];
    struct carried carried = carried_by(t);
    uint64_t signals = t->fast_recoveries + t->timeouts;
    enum pl_loss_cause most = most_lost(t);
    double segments = t->segments ? (double)t->segments : 1, p = (double)signals / segments;
    say(v, " %s%" PRIu64 " of %" PRIu64 " packets were lost (%.3g %%)", t->lost_at_most ? "At most " : "", t->lost,
        t->segments, 100 * (double)t->lost / segments);
    if (most != PL_LOSS_UNKNOWN)
        say(v, ", most of them to %s", pl_loss_words(most));
    say(v, ".");
    if (p > 0 && t->min_rtt_ns > 0 && t->mss && !t->sets_rate)
        say(v,
            " With %" PRIu64 " congestion signal%s (fast recoveries and time-outs) TCP Reno reaches about "
            "%s over %.4g ms.",
            signals, signals == 1 ? "" : "s", rate_text(8.0 * t->mss / seconds(t->min_rtt_ns) * MATHIS / sqrt(p), rate),
            seconds(t->min_rtt_ns) * 1e3);
    say_loss_advice(v, t, most);
    v->then_bps = possible_bps(v, t);
    if (v->then_bps > 0 && has_share(t))
        say(v, " Its share of the path is about %s.", rate_text(share_bps(t, carried.mean_bps), rate));
    else if (v->then_bps > 0)
        say(v, " The path carries %s.", carried_text(&carried, rate));
    say_narrow_window(v, t);
}

static void say_requests(struct pl_verdict *v, const struct pl_transfer *t)
{
    char size[32], rate[32];
    const struct pl_signs *signs = &t->signs;
    double message = (double)t->bytes / (double)(signs->answers + 1);
    say(v, " It sent %s on average and then waited for an answer, %.3g ms each time", size_text(message, size),
        seconds(signs->answers_ns) * 1e3 / (double)signs->answers);
    if (t->min_rtt_ns > 0)
        say(v, "; a round trip of %.4g ms allows messages of this size %s at most", seconds(free_rtt_ns(t)) * 1e3,
            rate_bound(8 * message / seconds(free_rtt_ns(t)), UPPER, rate));
    say(v, ".");
}

static void say_gateway(struct pl_verdict *v, const struct pl_transfer *t)
{
    char address[INET6_ADDRSTRLEN] = "?", size[32];
    if (!t->signs.behind) {
        say(v, " The receiver is a gateway, and its buffer was full.");
        return;
    }
    const struct pl_side *to = &t->signs.behind->side[!t->signs.behind_dir];
    inet_ntop(t->signs.behind->ip_version == 4 ? AF_INET : AF_INET6, to->address, address, sizeof address);
    say(v, " The receiver is a gateway, which passed %s on to %s port %u.",
        size_text((double)t->signs.behind->side[t->signs.behind_dir].bytes, size), address, to->port);
}

/* The number of other connections, without the streams of the same transfer. */
static uint32_t other_n(const struct pl_transfer *t)
{
    return t->signs.others - t->signs.streams;
}

static double other_bps(const struct pl_transfer *t)
{
    return t->signs.others_bps - t->signs.streams_bps;
}

/* The advice names queues per flow unless the path already has them. */
static void say_others(struct pl_verdict *v, const struct pl_transfer *t)
{
    char rate[32];
    say(v, " %" PRIu32 " other connection%s of the captures carried %s meanwhile.", other_n(t),
        other_n(t) == 1 ? "" : "s", rate_text(other_bps(t), rate));
    if (pl_line_known(t->line) && t->line->per_flow)
        say(v, " Each connection has a queue and a share of its own there: let the others send at other times.");
    else
        say_advice(v, PL_CAUSES_VERDICTS, PL_FOUND_CROSS_TRAFFIC);
}

static void say_finding(struct pl_verdict *v, const struct pl_transfer *t)
{
    const struct pl_signs *signs = &t->signs;
    char rate[32], burst[32];
    if (v->finding == PL_FOUND_POLICER) {
        v->then_bps = fmin(8 * signs->policed_rate * t->mss / (t->mss + 52.0), window_bps(t));
        say(v,
            " %s%" PRIu64 " of %" PRIu64 " packets were lost. A token bucket without a queue explains it: %s pass, and "
            "bursts of up to %s.",
            t->lost_at_most ? "At most " : "", t->lost, t->segments, rate_text(8 * signs->policed_rate, rate),
            size_text(signs->policed_burst, burst));
    } else if (v->finding == PL_FOUND_PATH_MTU && !signs->largest_arrived)
        say(v,
            " Empty packets arrived, and none with payload did; one with %" PRIu32 " bytes was sent %u times in vain. "
            "A firewall that drops all data would look the same; 'ping -M do -s %" PRIu32 "' shows which it is.",
            signs->stuck_len, signs->stuck_tries, signs->stuck_len);
    else if (v->finding == PL_FOUND_PATH_MTU)
        say(v,
            " No packet with more than %" PRIu32 " bytes of payload arrived; one with %" PRIu32
            " was sent %u times in vain.",
            signs->largest_arrived, signs->stuck_len, signs->stuck_tries);
    else if (v->finding == PL_FOUND_NAGLE)
        say(v,
            " %" PRIu64 " short packets waited for an acknowledgement, %.3g ms each on average; a round trip takes "
            "%.3g ms.",
            signs->delayed, seconds(signs->delayed_ns) * 1e3 / (double)signs->delayed, seconds(t->min_rtt_ns) * 1e3);
    else if (v->finding == PL_FOUND_CROSS_TRAFFIC)
        say_others(v, t);
    else if (v->finding == PL_FOUND_REQUESTS)
        say_requests(v, t);
    else if (v->finding == PL_FOUND_WAY_BACK)
        say(v,
            " Acknowledgements waited %.3g ms in queues, on average over time; a round trip takes %.4g ms without "
            "them.",
            seconds(signs->ack_queue_ns) * 1e3, seconds(t->min_rtt_ns) * 1e3);
    else if (v->finding == PL_FOUND_GATEWAY)
        say_gateway(v, t);
    else if (v->finding == PL_FOUND_SLOW_READER && t->window_max)
        say(v, " It had offered a window of %s.", size_text(offered(t), burst));
    if (v->finding != PL_FOUND_CROSS_TRAFFIC)
        say_advice(v, PL_CAUSES_VERDICTS, (unsigned)v->finding);
}

static void say_path_rate(struct pl_verdict *v, const struct pl_transfer *t)
{
    char rate[96], slow[32];
    struct carried carried = carried_by(t);
    if (carried.mean_bps > 0 && !carried.shown)
        say(v, " The line carries %s", carried_text(&carried, rate));
    else if (t->service_ns > 0 && t->slow_service_ns > PL_VARIES * t->service_ns)
        say(v, " By the arrivals, the bottleneck passed between about %s and %s of payload",
            rate_text(shown_bps(t, t->slow_service_ns), slow), rate_text(shown_bps(t, t->service_ns), rate));
    else if (carried.mean_bps > 0)
        say(v, " By the arrivals, the bottleneck carries %s", carried_text(&carried, rate));
    else
        say(v, " A queue stood all the time");
    if (t->most_queue_ns > 0)
        say(v, ", and its queue was up to %s%.3g ms long", t->box ? "" : "about ", seconds(t->most_queue_ns) * 1e3);
    say(v, ".");
    if (t->ends == PL_SENDER_ALONE)
        say(v, " Round trips alone do not show which direction had that queue; a capture at the receiver would.");
    say_advice(v, PL_CAUSES_LIMITS, PL_LIMIT_PATH_RATE);
}

/* Says what on the path marks packets, if this is known. */
static void say_marks(struct pl_verdict *v, const struct pl_transfer *t)
{
    static const char *const words[] = {[PL_MARKER_UNKNOWN] = NULL,
                                        [PL_MARKER_AQM] = "Queue management marks packets",
                                        [PL_MARKER_POLICER] = "A policer marks what exceeds its rate"};
    enum pl_marker marker = pl_line_known(t->line) ? t->line->marker : PL_MARKER_UNKNOWN;
    if (words[marker])
        say(v, " %s, and the sender slows down, as ECN intends.", words[marker]);
    else
        say_advice(v, PL_CAUSES_LIMITS, PL_LIMIT_ECN);
}

static void say_rest(struct pl_verdict *v, const struct pl_transfer *t)
{
    char size[32];
    double rtt = seconds(free_rtt_ns(t));
    if (v->cause == PL_LIMIT_SEND_BUFFER && rtt > 0)
        say(v, " In a round trip of %.4g ms it sent %s on average.", rtt * 1e3, size_text(v->rate_bps * rtt / 8, size));
    if (v->cause == PL_LIMIT_ECN)
        say_marks(v, t);
    else
        say_advice(v, PL_CAUSES_LIMITS, v->cause);
    if (v->cause == PL_LIMIT_SEND_BUFFER)
        say_window(v, t);
    if (v->cause == PL_LIMIT_CONGESTION_AVOIDANCE && t->sets_rate)
        say(v,
            " Nothing was lost. The congestion control sets a rate and a window from what it measures of the path, and "
            "the window held it back: it finds more capacity when it probes the path again.");
    else if (v->cause == PL_LIMIT_CONGESTION_AVOIDANCE)
        say(v, " Nothing was lost, and the window grew slowly. Another congestion control "
               "(net.ipv4.tcp_congestion_control) grows faster.");
}

enum { LOSSES = PL_LIMIT_N, GROUPS }; /* identifies a group: one of its limits, or LOSSES */

/* The verdict adds up the limits of a group. Recoveries, time-outs and the congestion window after them are one group.
 * A full window and a closed one are another, because the sender waits for the same event in both cases. */
static int group_of(const struct pl_transfer *t, enum pl_limit_cause cause)
{
    static const unsigned behind_losses =
        1U << PL_LIMIT_FAST_RECOVERY | 1U << PL_LIMIT_TIMEOUT | 1U << PL_LIMIT_CONGESTION_AVOIDANCE;
    if (t->lost && behind_losses >> cause & 1)
        return LOSSES;
    return cause == PL_LIMIT_ZERO_WINDOW ? PL_LIMIT_RECEIVER_WINDOW : (int)cause;
}

static int64_t group_ns(const struct pl_transfer *t, int group)
{
    int64_t sum_ns = 0;
    for (int i = 0; i < PL_LIMIT_N; i++)
        sum_ns += group_of(t, (enum pl_limit_cause)i) == group ? t->limit_ns[i] : 0;
    return sum_ns;
}

const char *pl_verdict_counts_as(const struct pl_transfer *t, enum pl_limit_cause cause)
{
    size_t n;
    int group = group_of(t, cause);
    return group == LOSSES ? pl_cause_rows(PL_CAUSES_VERDICTS, &n)[PL_FOUND_LOSSES].name
                           : pl_limit_name((enum pl_limit_cause)group);
}

static int64_t losses_ns(const struct pl_transfer *t)
{
    return group_ns(t, LOSSES);
}

static int64_t window_ns(const struct pl_transfer *t)
{
    return group_ns(t, PL_LIMIT_RECEIVER_WINDOW);
}

/* True when a full queue caused most drops, by the box's record. */
static bool recorded_queue(const struct pl_transfer *t)
{
    return t->box && most_lost(t) == PL_LOSS_TAIL_DROP;
}

/* The bottleneck's rate of payload. With other traffic on it, a connection's own arrivals never keep the bottleneck
 * busy, but some follow each other at once; these show its rate. 0: not known. */
static double line_bps(const struct pl_transfer *t)
{
    double carried_bps = carried_by(t).mean_bps;
    return carried_bps > 0 ? carried_bps : t->serial_ns > 0 ? shown_bps(t, t->serial_ns) : 0;
}

/* True when other connections of the captures used a good part of the line for most of the transfer's time, and the
 * line was the limit. It was the limit if it was busy all the time. It was also the limit if its queue, full or
 * managed, caused (or may have caused) the losses, and all connections together used most of the line. The second
 * condition excludes a line that is mostly idle: its queue may drop packets too when it is full for a moment. */
static bool shared(const struct pl_verdict *v, const struct pl_transfer *t)
{
    const double most_bps = line_bps(t);
    enum pl_loss_cause lost = most_lost(t);
    bool used = most_bps > 0 && v->rate_bps + t->signs.others_bps >= PL_SHARED_USED * most_bps;
    bool busy = v->finding < 0 && v->cause == PL_LIMIT_PATH_RATE;
    bool queue = lost == PL_LOSS_TAIL_DROP || lost == PL_LOSS_AQM || lost == PL_LOSS_UNKNOWN;
    bool full = v->finding == PL_FOUND_LOSSES && used && queue;
    bool there = 2 * t->signs.others_ns > t->last_ns - t->first_ns;
    return (busy || full) && there && PL_SHARED_OTHERS * other_bps(t) > v->rate_bps;
}

/* The largest payload of a packet that passes, from the largest packet that arrived. If only empty packets arrived, it
 * comes from the largest packet that every path carries (1,280 octets in IPv6). */
static uint32_t passes(const struct pl_transfer *t)
{
    if (t->signs.largest_arrived)
        return t->signs.largest_arrived;
    return t->ends == PL_BOTH_ENDS ? PL_EVERY_PATH : UINT32_MAX;
}

/* True when the receiver's program read so slowly that, for most of the time in which the window was the limit, the
 * window was closed, or full and smaller than it can be. */
static bool reads_slowly(const struct pl_verdict *v, const struct pl_transfer *t)
{
    const struct pl_signs *signs = &t->signs;
    double small = signs->shut >= PL_LEAST_TIMES ? (double)signs->shut_small / (double)signs->shut : 0;
    double little_ns =
        (double)t->limit_ns[PL_LIMIT_ZERO_WINDOW] + small * (double)t->limit_ns[PL_LIMIT_RECEIVER_WINDOW];
    return is_window(v) && 2 * little_ns > (double)window_ns(t);
}

/* True when the offered window exceeds the BDP and yet the path was not fully used. Then only late acknowledgements
 * explain an idle bottleneck. With timely ones the excess data would wait in the bottleneck's queue, and the path's
 * rate would be the limit. */
static bool holds_more(const struct pl_verdict *v, const struct pl_transfer *t)
{
    double path_bps = carried_by(t).mean_bps;
    return 8.0 * offered(t) > PL_CLEARLY * path_bps * seconds(free_rtt_ns(t)) &&
           path_bps > PL_CLEARLY * (v->rate_bps + t->signs.others_bps);
}

/* True when the limiting window would allow much more if acknowledgements were not delayed. This may also be the
 * congestion window after a loss, if it needed more time to grow than for the recoveries. Where the offered window
 * exceeds the BDP, a smaller delay is enough as evidence. */
static bool acks_wait(const struct pl_verdict *v, const struct pl_transfer *t)
{
    static const unsigned windows = 1U << PL_LIMIT_SLOW_START | 1U << PL_LIMIT_CONGESTION_AVOIDANCE |
                                    1U << PL_LIMIT_RECEIVER_WINDOW | 1U << PL_LIMIT_SEND_BUFFER;
    const int64_t grew_ns = t->limit_ns[PL_LIMIT_CONGESTION_AVOIDANCE];
    bool window =
        v->finding < 0 ? windows >> v->cause & 1 : v->finding == PL_FOUND_LOSSES && grew_ns > losses_ns(t) - grew_ns;
    if (!window || t->min_rtt_ns <= 0 || t->signs.ack_queue_ns <= PL_ACKS_WAIT_NS)
        return false;
    return t->signs.ack_queue_ns > t->min_rtt_ns || (is_window(v) && !reads_slowly(v, t) && holds_more(v, t));
}

/* What lies behind the cause. */
static void look_behind(struct pl_verdict *v, const struct pl_transfer *t, int64_t all_ns)
{
    const struct pl_signs *signs = &t->signs;
    bool recovers = v->finding == PL_FOUND_LOSSES || v->cause == PL_LIMIT_TIMEOUT || v->cause == PL_LIMIT_PATH_DOWN;
    if (signs->delayed >= PL_LEAST_TIMES && signs->delayed_ns > all_ns / 100 * PL_NAGLE_PERCENT) {
        v->finding = PL_FOUND_NAGLE;
        v->share = (double)signs->delayed_ns / (double)all_ns;
    } else if (recovers && signs->stuck_tries >= PL_STUCK_TRIES && signs->stuck_len > passes(t))
        v->finding = PL_FOUND_PATH_MTU;
    else if (shared(v, t)) {
        v->and_losses = v->finding == PL_FOUND_LOSSES;
        if (v->and_losses)
            v->share += (double)t->limit_ns[PL_LIMIT_PATH_RATE] / (double)all_ns;
        v->share = fmin(v->share, (double)t->signs.others_ns / (double)(t->last_ns - t->first_ns));
        v->finding = PL_FOUND_CROSS_TRAFFIC;
    } else if (v->finding == PL_FOUND_LOSSES && signs->policed_rate > 0 && !recorded_queue(t))
        v->finding = PL_FOUND_POLICER;
    else if (acks_wait(v, t))
        v->finding = PL_FOUND_WAY_BACK;
    else if (t->from_gateway && v->finding < 0 && v->cause == PL_LIMIT_APPLICATION)
        v->finding = PL_FOUND_GATEWAY_FEED;
    else if (v->cause == PL_LIMIT_APPLICATION && signs->answers >= PL_LEAST_TIMES &&
             2 * signs->answers_ns > t->limit_ns[PL_LIMIT_APPLICATION])
        v->finding = PL_FOUND_REQUESTS;
    else if (signs->behind && is_window(v))
        v->finding = PL_FOUND_GATEWAY;
    else if (reads_slowly(v, t))
        v->finding = t->to_gateway ? PL_FOUND_GATEWAY : PL_FOUND_SLOW_READER;
    else if (t->to_gateway && is_window(v) && t->limit_ns[PL_LIMIT_ZERO_WINDOW] > 0)
        v->finding = PL_FOUND_GATEWAY;
}

static bool find_cause(struct pl_verdict *v, const struct pl_transfer *t)
{
    int64_t all_ns = 0, most_ns = 0;
    int most = PL_LIMIT_CONGESTION_AVOIDANCE;
    for (int i = 0; i < GROUPS; i++) { /* losses come first, so that they win if two causes took equally long */
        int group = (LOSSES + i) % GROUPS;
        int64_t ns = group_ns(t, group);
        all_ns += ns;
        if (ns > most_ns) {
            most_ns = ns;
            most = group;
        }
    }
    v->finding = most == LOSSES ? PL_FOUND_LOSSES : -1;
    v->cause = most == LOSSES ? PL_LIMIT_CONGESTION_AVOIDANCE : (enum pl_limit_cause)most;
    v->share = all_ns ? (double)most_ns / (double)all_ns : 0;
    look_behind(v, t, all_ns);
    return most_ns > 0;
}

/* The verdict from the receiver's capture alone. It does not show what limited the sender, only whether the transfer
 * was as fast as the receiver's window allows. */
static bool infer_window(struct pl_verdict *v, const struct pl_transfer *t)
{
    double most_bps = t->min_rtt_ns > 0 ? 8.0 * offered(t) / seconds(t->min_rtt_ns) : 0;
    v->cause = PL_LIMIT_RECEIVER_WINDOW;
    v->share = -1;
    return t->scale_known && most_bps > 0 && v->rate_bps >= PL_WINDOW_FULL * most_bps;
}

static const struct pl_cause_row *row_of(const struct pl_verdict *v)
{
    size_t n;
    bool found = v->finding >= 0;
    return &pl_cause_rows(found ? PL_CAUSES_VERDICTS : PL_CAUSES_LIMITS, &n)[found ? v->finding : (int)v->cause];
}

const char *pl_verdict_name(const struct pl_verdict *v)
{
    return row_of(v)->name;
}

const char *pl_verdict_words(const struct pl_verdict *v)
{
    return row_of(v)->words;
}

struct pl_verdict pl_verdict_of(const struct pl_transfer *t)
{
    struct pl_verdict v = {.known = false, .finding = -1};
    int64_t elapsed_ns = t->last_ns - t->first_ns;
    char rate[32];
    v.rate_bps = t->segments && elapsed_ns > 0 ? (double)t->bytes * 8e9 / (double)elapsed_ns : 0;
    v.known = t->ends == PL_RECEIVER_ALONE ? infer_window(&v, t) : find_cause(&v, t);
    if (!v.known) {
        if (t->ends == PL_RECEIVER_ALONE && t->segments)
            say(&v, "The receiver's capture alone does not show what limited the transfer; the sender's would.");
        return v;
    }
    if (v.share < 0)
        say(&v, "The transfer went at %s, as fast as the receiver's window allows.", rate_text(v.rate_bps, rate));
    else
        say(&v, "The transfer went at %s, limited for %.0f %% of the time by %s%s.", rate_text(v.rate_bps, rate),
            100 * v.share, pl_verdict_words(&v), v.and_losses ? ", or by losses at it and what followed them" : "");
    if (v.finding == PL_FOUND_LOSSES)
        say_losses(&v, t);
    else if (v.finding >= 0)
        say_finding(&v, t);
    else if (v.cause == PL_LIMIT_RECEIVER_WINDOW)
        say_receiver_window(&v, t);
    else if (v.cause == PL_LIMIT_PATH_RATE)
        say_path_rate(&v, t);
    else
        say_rest(&v, t);
    return v;
}
