/* Implements analyse_text.h. */
#include "analyse_text.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "limits.h"
#include "losses.h"
#include "summary.h"
#include "transfer_verdict.h"

static double ms(int64_t ns)
{
    return (double)ns / 1e6;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static void print_end_point(const struct pl_flow *flow, unsigned side)
{
    char text[INET6_ADDRSTRLEN] = "?";
    const struct pl_side *end = &flow->side[side];
    inet_ntop(flow->ip_version == 4 ? AF_INET : AF_INET6, end->address, text, sizeof text);
    printf(strchr(text, ':') ? "[%s]:%u" : "%s:%u", text, end->port);
}

/* Prints the end points as the other end sees them behind NAT. */
static void print_translated(const struct pl_transfer *t)
{
    for (unsigned side = 0; t->far_flow && side < 2; side++) {
        unsigned far = side ^ t->dir ^ t->receiver_dir;
        if (t->flow->ip_version == t->far_flow->ip_version && t->flow->side[side].port == t->far_flow->side[far].port &&
            memcmp(t->flow->side[side].address, t->far_flow->side[far].address, 16) == 0)
            continue;
        print_end_point(t->flow, side);
        printf(" is ");
        print_end_point(t->far_flow, far);
        printf(" at the other end (NAT).\n");
    }
}

void pl_analyse_print_verdict(const struct pl_transfer *t)
{
    struct pl_verdict verdict = pl_verdict_of(t);
    if (verdict.text[0])
        printf("%s\n", verdict.text);
}

void pl_analyse_print_line(const struct pl_transfer *t)
{
    struct pl_verdict verdict = pl_verdict_of(t);
    printf("  flow %u, ", t->number);
    print_end_point(t->flow, t->dir);
    printf(" to ");
    print_end_point(t->flow, !t->dir);
    printf(": %" PRIu64 " bytes, %.4g Mbit/s, %" PRIu64 " packets lost; limited by %s\n", t->bytes,
           verdict.rate_bps / 1e6, t->lost,
           verdict.known ? pl_verdict_words(&verdict) : "what the captures do not show");
}

void pl_analyse_print_ends(const struct pl_analysis *analysis)
{
    uint32_t at_sender = pl_analysis_count(analysis, PL_SENDER_ALONE);
    uint32_t at_receiver = pl_analysis_count(analysis, PL_RECEIVER_ALONE);
    if (at_sender && at_receiver) {
        printf("Only one end's capture was given. The capture was taken at the sender of %" PRIu32
               " connection%s and at "
               "the receiver of %" PRIu32 ". At the sender, losses are inferred from the acknowledgements; one-way "
               "delays, reordering, and where and why packets were lost are not known. At the receiver, losses are the "
               "holes in what arrived; what limited the sender is not known.\n",
               at_sender, plural(at_sender), at_receiver);
        return;
    }
    if (at_sender)
        printf(
            "Only the sender's capture was given. Losses are inferred from the acknowledgements (SACK, duplicates "
            "reported by RFC 2883, time stamps); one-way delays, reordering, and where and why packets were lost are "
            "not known.\n");
    if (at_receiver)
        printf("Only the receiver's capture was given. Losses are the holes in what arrived, so they happened before "
               "this capture; what limited the sender, its time-outs and its round trips are not known.\n");
}

/* Prints what the receiver's capture shows. */
static void print_arrived(const struct pl_transfer *t)
{
    if (t->min_rtt_ns >= 0)
        printf("  What the receiver sent, such as its part of the handshake, was answered in %.4g to %.4g ms.\n",
               ms(t->min_rtt_ns), ms(t->max_rtt_ns));
    if (t->window_max)
        printf("  It offered a window of at most %" PRIu32 " bytes.\n", t->window_max);
    printf("  %" PRIu64 " packets arrived, %" PRIu64 " of them sent again, %" PRIu64 " of these needlessly. %" PRIu64
           " packet%s (%" PRIu64 " bytes) were lost before this capture. The receiver sent %" PRIu64
           " duplicate acknowledgement%s.\n",
           t->segments, t->retransmitted, t->spurious, t->lost, plural(t->lost), t->lost_bytes, t->duplicate_acks,
           plural(t->duplicate_acks));
    if (t->unseen)
        printf("  The capture missed %" PRIu64 " packet%s that the receiver acknowledged.\n", t->unseen,
               plural(t->unseen));
    if (t->reordered)
        printf("  %" PRIu64 " packet%s had been overtaken by later ones.\n", t->reordered, plural(t->reordered));
}

static void print_outline(const struct pl_transfer *t)
{
    double seconds = (double)(t->last_ns - t->first_ns) / 1e9;
    print_translated(t);
    printf("flow %u, from ", t->number);
    print_end_point(t->flow, t->dir);
    printf(" to ");
    print_end_point(t->flow, !t->dir);
    printf(": %" PRIu64 " bytes in %.3f s, which is %.4g Mbit/s\n", t->bytes, seconds,
           seconds > 0 ? (double)t->bytes * 8e-6 / seconds : 0);
    if (t->ends == PL_RECEIVER_ALONE) {
        print_arrived(t);
        return;
    }
    if (t->min_rtt_ns >= 0)
        printf("  A round trip took %.4g to %.4g ms. At most %" PRIu64 " bytes were unacknowledged at once.\n",
               ms(t->min_rtt_ns), ms(t->max_rtt_ns), t->max_unacknowledged_bytes);
    printf("  Of %" PRIu64 " packets %" PRIu64 " were lost (%.3g %%) and %" PRIu64 " sent again", t->segments, t->lost,
           percent(t->lost, t->segments), t->retransmitted);
    if (t->spurious)
        printf(", %" PRIu64 " of them needlessly", t->spurious);
    if (t->lost_at_most)
        printf("; without SACK, fewer may have been lost and more sent again needlessly");
    printf(". There were %" PRIu64 " time-out%s, %" PRIu64 " fast recover%s and %" PRIu64
           " duplicate acknowledgement%s.\n",
           t->timeouts, plural(t->timeouts), t->fast_recoveries, t->fast_recoveries == 1 ? "y" : "ies",
           t->duplicate_acks, plural(t->duplicate_acks));
    if (t->ends == PL_SENDER_ALONE && t->in_flight_at_end)
        printf("  %" PRIu64 " packet%s at the end were not acknowledged while the capture lasted.\n",
               t->in_flight_at_end, plural(t->in_flight_at_end));
    else if (t->in_flight_at_end)
        printf("  %" PRIu64
               " packet%s may have been under way when the receiver's capture ended: not lost, as far as the "
               "captures show.\n",
               t->in_flight_at_end, plural(t->in_flight_at_end));
    if (t->reordered)
        printf("  %" PRIu64
               " packet%s arrived after later ones: overtaken by %u packets at most, and %.3g ms late at most.\n",
               t->reordered, plural(t->reordered), t->overtaken_max, ms(t->reordered_late_ns));
}

/* Prints for example "limited for 6.2 s (62 %) by the receiver's window", with the longest limit first. */
static void print_limits(const struct pl_transfer *t)
{
    int64_t all_ns = 0;
    for (int i = 0; i < PL_LIMIT_N; i++)
        all_ns += t->limit_ns[i];
    for (bool shown[PL_LIMIT_N] = {false}; all_ns > 0;) {
        int most = -1;
        for (int i = 0; i < PL_LIMIT_N; i++)
            if (!shown[i] && t->limit_ns[i] > 0 && (most < 0 || t->limit_ns[i] > t->limit_ns[most]))
                most = i;
        if (most < 0)
            break;
        shown[most] = true;
        printf("  limited for %.3f s (%.0f %%) by %s\n", (double)t->limit_ns[most] / 1e9,
               percent((uint64_t)t->limit_ns[most], (uint64_t)all_ns), pl_limit_words((enum pl_limit_cause)most));
    }
    if (t->limit_ns[PL_LIMIT_APPLICATION] > 0 && !t->sampled && !t->always_data)
        printf(
            "  The captures alone do not show whether a program had nothing to send or was late to run; --samples and "
            "--always-data do.\n");
}

static void print_losses(const struct pl_transfer *t)
{
    for (int i = 0; i < PL_LOSS_N; i++)
        if (t->loss_causes[i])
            printf("  lost to %s: %" PRIu64 " packet%s\n", pl_loss_words((enum pl_loss_cause)i), t->loss_causes[i],
                   plural(t->loss_causes[i]));
    for (int i = 0; t->lost && i < PL_LOSS_N; i++)
        if (t->ruled_out & 1U << i)
            printf("  the path's parameters rule out %s\n", pl_loss_words((enum pl_loss_cause)i));
}

static void print_marks(const struct pl_transfer *t)
{
    const struct pl_mark_sum *marks = &t->marks;
    bool accurate = pl_flow_ecn(t->flow) == PL_ECN_ACCURATE;
    if (!marks->ce_received && !marks->box_marked && !marks->ece_received && !marks->ce_reported)
        return;
    printf("  %" PRIu64 " packet%s arrived marked CE", marks->ce_received, plural(marks->ce_received));
    if (t->box)
        printf(" (the box marked %" PRIu64 ")", marks->box_marked);
    printf(accurate ? "; %" PRIu64 " of these were reported to the sender"
                    : "; %" PRIu64 " acknowledgements with ECE came back",
           accurate ? marks->ce_reported : marks->ece_received);
    printf(", and reduced its window %" PRIu64 " time%s\n", marks->reductions, plural(marks->reductions));
}

static void print_rates(const struct pl_transfer *t)
{
    static const char *const ways[] = {"sent", "received"};
    for (unsigned i = 0; i < t->pace->scale_n; i++)
        for (int way = 0; way < 2; way++) {
            struct pl_spread_bps spread = pl_summary_rate(t, i, way);
            if (spread.mean > 0)
                printf("  in intervals of %.4g ms %s at %.4g Mbit/s, give or take %.4g, at most %.4g\n",
                       ms(t->pace->scales_ns[i]), ways[way], spread.mean / 1e6, spread.deviation / 1e6,
                       spread.most / 1e6);
        }
    if (t->trains.n)
        printf("  sent in %" PRIu64 " burst%s (gaps up to %.4g us), of %.3g packets on average and %u at most\n",
               t->trains.n, plural(t->trains.n), (double)t->pace->burst_gap_ns / 1e3,
               (double)t->trains.parts / (double)t->trains.n, t->trains.parts_max);
}

static void print_drift(const struct pl_clock *clock)
{
    if (clock->drift_error < 0)
        printf(" The captures are too short to show a drift.");
    else
        printf(" Its drift is %.4g ppm, give or take %.2g.", clock->drift * 1e6, clock->drift_error * 1e6);
}

static void print_steps(const struct pl_clock *clock, int64_t began_ns)
{
    for (unsigned i = 1; i < clock->piece_n; i++)
        printf(" The %s's clock was stepped by %.9g ms at %.3f s.", clock->stepped ? "receiver" : "sender",
               ms(clock->pieces[i].offset_ns - clock->pieces[i - 1].offset_ns) * (clock->stepped ? 1 : -1),
               (double)(clock->pieces[i].t_ns - began_ns) / 1e9);
}

void pl_clock_print(const struct pl_clock *clock, int64_t began_ns)
{
    int64_t offset_ns = clock->piece_n ? clock->pieces[0].offset_ns : 0;
    if (clock->kind == PL_CLOCK_UNKNOWN)
        printf("The clocks of the captures cannot be compared, because too few packets are in both. Delays are right "
               "if the "
               "clocks are one.\n");
    if (clock->kind == PL_CLOCK_ONE) {
        printf("The captures agree with one clock. If there are two, the receiver's may be wrong by up to %.4g ms.",
               ms(clock->bound_ns));
        print_drift(clock);
        printf("\n");
    }
    if (clock->kind != PL_CLOCK_TWO && clock->kind != PL_CLOCK_GIVEN)
        return;
    printf("The receiver's clock is %.9g ms %s the sender's", fabs(ms(offset_ns)),
           offset_ns < 0 ? "behind" : "ahead of");
    if (clock->kind == PL_CLOCK_TWO) {
        printf(
            ", give or take %.4g ms if both directions of the path take equally long, and %.4g ms whatever they take.",
            ms(clock->error_ns), ms(clock->bound_ns));
        print_drift(clock);
        print_steps(clock, began_ns);
    } else
        printf(" and drifts by %.4g ppm, as given.", clock->drift * 1e6);
    printf(" All times are by the sender's clock.\n");
}

static void print_window(const struct pl_transfer *t)
{
    if (!t->scale_known)
        printf("  No captured SYN shows the scale of the receiver's window (at least %u bits), so it is never named as "
               "a limit; \"the congestion window\" below may be the receiver's.\n",
               t->scale_least);
}

enum { LEFT_OUT_MAX = 10 };

/* Prints the connections that only one of the captures has. */
static void print_left_out(const struct pl_analysis *analysis, int end, const char *name)
{
    const struct pl_flows *flows = &analysis->surveys[end].index.flows;
    uint32_t said = 0;
    for (uint32_t i = 0; i < flows->n && said < LEFT_OUT_MAX; i++) {
        const struct pl_flow *flow = &flows->at[i];
        if (analysis->numbers[end][i] != UINT32_MAX)
            continue;
        printf("left out, in the %s's capture alone: ", name);
        print_end_point(flow, 0);
        printf(" and ");
        print_end_point(flow, 1);
        printf(", %" PRIu64 " packets\n", flow->side[0].packets + flow->side[1].packets);
        said++;
    }
    if (analysis->unmatched[end] > said)
        printf("and %u more in the %s's capture alone\n", analysis->unmatched[end] - said, name);
}

void pl_analyse_print_left_out(const struct pl_analysis *analysis)
{
    print_left_out(analysis, PL_SENDER, "sender");
    print_left_out(analysis, PL_RECEIVER, "receiver");
}

void pl_analyse_print(const struct pl_transfer *t)
{
    double share = pl_stopped_share(t);
    print_outline(t);
    print_window(t);
    print_limits(t);
    print_losses(t);
    print_marks(t);
    print_rates(t);
    for (size_t i = 0; i < t->stops.n; i++)
        printf("  stopped %.3f s at %.3f s: %s\n", (double)(t->stops.at[i].t1_ns - t->stops.at[i].t0_ns) / 1e9,
               (double)(t->stops.at[i].t0_ns - t->first_ns) / 1e9, t->stops.at[i].text);
    if (t->stops.n)
        printf("  The sender stood still for %.3g %% of the time (s = %.3f).\n", 100 * share, share);
}
