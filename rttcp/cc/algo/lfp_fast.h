/* FAST TCP keeps `alpha` packets in the queue. Source: C. Jin, D. Wei, S. Low, "FAST TCP: Motivation, Architecture,
 * Algorithms, Performance", INFOCOM 2004, equation (2).
 *
 *   once a round trip:  w = min(2 w, (1 - gamma) w + gamma (baseRTT / RTT · w + alpha))
 *   loss:               w = w / 2
 *
 * In equilibrium w (1 - baseRTT/RTT) = alpha. RTT is the mean of the samples of a round trip, baseRTT the smallest
 * sample ever seen. Slow start ends when alpha packets are queued. */
#ifndef LFP_FAST_H
#define LFP_FAST_H

#include "lfp_cc.h"

#define LFP_FAST_PARAMS(P)                                                                                             \
    P(alpha, 200, 1, 60000, "packets kept in the queue")                                                               \
    P(gamma, 0.5, 0.01, 1, "weight of the new window")                                                                 \
    P(keep, 0.5, 0.1, 0.95, "share of the window kept on loss")

struct lfp_fast_params {
    LFP_FAST_PARAMS(LFP_PARAM_FIELD)
};

struct lfp_fast {
    u64 round_us; /* when the window may change next */
    u64 sum_us;   /* sum of the samples of this round trip */
    u32 samples;
    u32 base_us;      /* smallest round-trip time; 0: none yet */
    u32 fraction_q16; /* fraction of the window */
};

LFP_INLINE void lfp_fast_start(struct lfp_fast *s)
{
    s->round_us = s->sum_us = 0;
    s->samples = s->base_us = s->fraction_q16 = 0;
}

LFP_INLINE void lfp_fast_rtt(struct lfp_fast *s, u32 rtt_us)
{
    if (!s->base_us || rtt_us < s->base_us)
        s->base_us = rtt_us;
    s->sum_us += rtt_us;
    s->samples++;
}

/* The next window in Q16, from the current one in Q16 and the time of this round trip. */
LFP_INLINE u64 lfp_fast_next_q16(const struct lfp_fast *s, const struct lfp_fast_params *p, u64 window_q16, u32 rtt_us)
{
    u64 share_q16 = LFP_DIV((u64)s->base_us << 16, lfp_max(rtt_us, 1));
    u64 target_q16 = (window_q16 * share_q16 >> 16) + p->alpha;
    u64 next_q16 = lfp_scale(window_q16, LFP_ONE - p->gamma) + lfp_scale(target_q16, p->gamma);
    return next_q16 < 2 * window_q16 ? next_q16 : 2 * window_q16;
}

LFP_INLINE u32 lfp_fast_lost(struct lfp_fast *s, const struct lfp_fast_params *p, const struct lfp_window *w)
{
    s->fraction_q16 = 0;
    return lfp_keep(w->cwnd, p->keep);
}

LFP_INLINE void lfp_fast_acked(struct lfp_fast *s, const struct lfp_fast_params *p, struct lfp_window *w, u32 acked)
{
    if (w->cwnd < w->ssthresh)
        lfp_slow_start(w, acked);
    if (!s->samples || w->now_us < s->round_us)
        return;
    u32 rtt_us = (u32)LFP_DIV(s->sum_us, s->samples);
    s->sum_us = s->samples = 0;
    s->round_us = w->now_us + rtt_us;
    if (w->cwnd < w->ssthresh) {
        u64 queued_q16 = (u64)w->cwnd * (LFP_ONE - (u32)LFP_DIV((u64)s->base_us << 16, lfp_max(rtt_us, 1)));
        if (queued_q16 > p->alpha)
            w->ssthresh = w->cwnd;
        return;
    }
    u64 next_q16 = lfp_fast_next_q16(s, p, ((u64)w->cwnd << 16) + s->fraction_q16, rtt_us);
    w->cwnd = lfp_max((u32)(next_q16 >> 16), 2);
    w->ssthresh = lfp_min(w->ssthresh, w->cwnd); /* a window that shrinks must not return to slow start */
    s->fraction_q16 = next_q16 & 0xffff;
}

#endif
