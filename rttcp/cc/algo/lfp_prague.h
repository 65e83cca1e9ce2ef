/* TCP Prague, the congestion control of L4S. Source: draft-briscoe-iccrg-prague-congestion-control, the sections on the
 * congestion response and on pacing. It needs AccECN feedback and sends ECT(1).
 *
 *   every RTT_ref:  alpha += gain (frac - alpha), where frac is the share of acknowledged segments that were marked
 *   a mark:         cwnd -= cwnd alpha / 2, at most once in RTT_ref; it also ends slow start
 *   an ACK:         cwnd += unmarked (RTT / RTT_ref)^2 / cwnd, whether the window was just reduced or not
 *   a loss:         cwnd = keep cwnd, as Reno; a reduction for marks in the same round trip counts towards it
 *   pace:           cwnd / RTT, twice that while cwnd < ssthresh / 2
 *
 * RTT_ref is RTT in the first `rounds` round trips after slow start, and max(RTT, rtt_ref) from then on. So flows of
 * different short RTTs get the same rate: each behaves like a flow with rtt_ref. The square is there because a window
 * of RTT_ref would be RTT_ref / RTT times as large, and would grow over as many round trips.
 *
 * alpha is 1 until the first mark, so that slow start ends with half of the window, as after a loss. The draft says
 * nothing about the first value; DCTCP (RFC 8257) starts with 1. The fraction of a segment is kept in reductions too,
 * as the draft advises. */
#ifndef LFP_PRAGUE_H
#define LFP_PRAGUE_H

#include "lfp_cc.h"

#define LFP_PRAGUE_PARAMS(P)                                                                                           \
    P(gain, 0.0625, 0.001, 1, "weight of the newest share of marks in alpha")                                          \
    P(rtt_ref, 25, 0, 1000, "ms: a flow of shorter RTT behaves as if it had this RTT")                                 \
    P(rounds, 500, 0, 60000, "round trips after slow start before rtt_ref counts")                                     \
    P(keep, 0.5, 0.1, 0.9, "share of the window after a loss")

struct lfp_prague_params {
    LFP_PRAGUE_PARAMS(LFP_PARAM_FIELD)
};

#define LFP_ALPHA_BITS 24
#define LFP_ALPHA_ONE (1u << LFP_ALPHA_BITS)

struct lfp_prague {
    u64 period_us;                 /* start of the period over which frac is taken */
    u64 round_us;                  /* start of the round trip */
    u64 reduced_us;                /* last reduction for a mark; 0: none yet */
    u32 delivered, marked;         /* segments so far, as the kernel counts them */
    u32 old_delivered, old_marked; /* the same at the start of the period */
    u32 alpha_q24;
    u32 fraction_q32;
    u32 rounds; /* complete round trips after slow start */
    u32 before; /* the window before the last reduction for a mark */
    u32 lost;   /* a loss was found, and nothing has been sent again since */
};

LFP_INLINE void lfp_prague_start(struct lfp_prague *s, const struct lfp_window *w, u32 delivered, u32 marked)
{
    s->period_us = s->round_us = w->now_us;
    s->reduced_us = 0;
    s->delivered = s->old_delivered = delivered;
    s->marked = s->old_marked = marked;
    s->alpha_q24 = LFP_ALPHA_ONE;
    s->fraction_q32 = s->rounds = s->before = s->lost = 0;
}

LFP_INLINE u32 lfp_prague_rtt_ref_us(const struct lfp_prague *s, const struct lfp_prague_params *p,
                                     const struct lfp_window *w)
{
    return s->rounds < p->rounds >> 16 ? w->rtt_us : lfp_max(w->rtt_us, (u32)lfp_scale(1000, p->rtt_ref));
}

/* Takes alpha's next value at the end of a period. Before the first mark there is nothing to average. */
LFP_INLINE void lfp_prague_measure(struct lfp_prague *s, const struct lfp_prague_params *p, const struct lfp_window *w,
                                   u32 rtt_ref_us)
{
    u32 delivered = s->delivered - s->old_delivered, marked = lfp_min(s->marked - s->old_marked, delivered);
    if (w->now_us - s->period_us < rtt_ref_us || !delivered)
        return;
    if (s->reduced_us) {
        u64 frac_q24 = LFP_DIV((u64)marked << LFP_ALPHA_BITS, delivered);
        s->alpha_q24 = (u32)(((u64)s->alpha_q24 * (LFP_ONE - p->gain) + frac_q24 * p->gain) >> 16);
    }
    s->period_us = w->now_us;
    s->old_delivered = s->delivered;
    s->old_marked = s->marked;
}

/* Reduces the window by alpha / 2 of it. */
LFP_INLINE void lfp_prague_reduce(struct lfp_prague *s, struct lfp_window *w)
{
    u64 exact_q32 = (u64)w->cwnd << 32 | s->fraction_q32;
    u64 left_q32 = exact_q32 - ((exact_q32 >> 16) * (s->alpha_q24 >> 4) >> 5); /* Q16 by Q20, and the half */
    s->before = w->cwnd;
    s->reduced_us = w->now_us;
    s->fraction_q32 = (u32)left_q32;
    w->cwnd = w->ssthresh = (u32)(left_q32 >> 32);
    if (w->cwnd < 2) {
        w->cwnd = w->ssthresh = 2;
        s->fraction_q32 = 0;
    }
}

LFP_INLINE void lfp_prague_count_round(struct lfp_prague *s, const struct lfp_window *w)
{
    if (w->cwnd < w->ssthresh || w->now_us - s->round_us < w->rtt_us)
        return;
    s->round_us = w->now_us;
    s->rounds += s->rounds < 60000;
}

/* Handles an ACK, with the numbers of delivered and of marked segments so far. `may_grow`: the window is in use, and no
 * loss is being repaired. `may_reduce`: no loss is being repaired. */
LFP_INLINE void lfp_prague_ack(struct lfp_prague *s, const struct lfp_prague_params *p, struct lfp_window *w,
                               u32 delivered, u32 marked, u32 may_grow, u32 may_reduce)
{
    u32 acked = delivered - s->delivered, marks = lfp_min(marked - s->marked, acked), unmarked = acked - marks;
    u32 rtt_ref_us = lfp_prague_rtt_ref_us(s, p, w);
    s->delivered = delivered;
    s->marked = marked;
    lfp_prague_count_round(s, w);
    lfp_prague_measure(s, p, w, rtt_ref_us);
    if (marks && may_reduce && (!s->reduced_us || w->now_us - s->reduced_us >= rtt_ref_us))
        lfp_prague_reduce(s, w);
    if (!may_grow)
        return;
    unmarked = lfp_slow_start(w, unmarked);
    u64 ratio_q16 = rtt_ref_us ? LFP_DIV((u64)w->rtt_us << 16, rtt_ref_us) : LFP_ONE;
    if (unmarked)
        lfp_grow(w, &s->fraction_q32, unmarked, ratio_q16 * ratio_q16 >> 16);
}

/* The window after a loss. What marks took from it within the last round trip is not taken twice. */
LFP_INLINE u32 lfp_prague_lost(struct lfp_prague *s, const struct lfp_prague_params *p, const struct lfp_window *w)
{
    u32 recent = s->reduced_us && w->now_us - s->reduced_us < w->rtt_us;
    s->fraction_q32 = 0;
    return lfp_min(lfp_keep(recent ? lfp_max(s->before, w->cwnd) : w->cwnd, p->keep), lfp_max(w->cwnd, 2));
}

/* The pace in bytes a second; 0 before the first sample of the round-trip time. */
LFP_INLINE u64 lfp_prague_pace(const struct lfp_window *w, u32 in_flight)
{
    u64 bytes = (u64)lfp_max(w->cwnd, in_flight) * w->mss_bytes * (w->cwnd < w->ssthresh / 2 ? 2 : 1);
    return w->rtt_us ? LFP_DIV(bytes * 1000000, w->rtt_us) : 0;
}

#endif
