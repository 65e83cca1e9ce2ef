/* H-TCP. Source: D. Leith, draft-leith-tcp-htcp-06, sections 2 and 3; R. Shorten, D. Leith, PFLDnet 2004.
 *
 *   RTT:   cwnd += max(2 (1 - beta) f(D), 1),  D: seconds since the last loss
 *          f = 1 up to DL,  1 + 10 (D - DL) + ((D - DL)/2)^2 after it
 *   loss:  cwnd = beta cwnd,  beta = RTTmin / RTTmax within [beta_min, beta_max] while the rate reached differs by
 *          at most `change` from the rate at the previous loss, otherwise beta_min
 *
 * Rejected: the draft's optional scaling of alpha with RTT. Alpha would then depend on more than the time since the
 * loss. */
#ifndef LFP_HTCP_H
#define LFP_HTCP_H

#include "lfp_cc.h"

#define LFP_HTCP_PARAMS(P)                                                                                             \
    P(delta_low, 1, 0, 60, "DL: seconds after a loss with the standard growth")                                        \
    P(beta_min, 0.5, 0.1, 0.95, "least share of the window kept on loss")                                              \
    P(beta_max, 0.8, 0.1, 0.95, "largest share of the window kept on loss")                                            \
    P(change, 0.2, 0, 1, "change of rate between losses above which beta is beta_min")

struct lfp_htcp_params {
    LFP_HTCP_PARAMS(LFP_PARAM_FIELD)
};

struct lfp_htcp {
    u64 loss_us;  /* time of the last loss; before the first loss, time of the start */
    u64 round_us; /* start of the round trip whose acknowledged segments are counted */
    u32 round_acked;
    u32 rate, old_rate; /* best rate of a round trip since the loss, and in the epoch before it, in segments per
                         * second */
    u32 min_rtt_us, max_rtt_us;
    u32 beta_q16;
    u32 fraction_q32;
};

LFP_INLINE void lfp_htcp_start(struct lfp_htcp *s, const struct lfp_htcp_params *p, const struct lfp_window *w)
{
    s->loss_us = s->round_us = w->now_us;
    s->round_acked = s->rate = s->old_rate = 0;
    s->min_rtt_us = s->max_rtt_us = 0;
    s->beta_q16 = p->beta_min;
    s->fraction_q32 = 0;
}

/* The growth in segments per round trip, Q16, since_us after the last loss. */
LFP_INLINE u64 lfp_htcp_alpha_q16(const struct lfp_htcp *s, const struct lfp_htcp_params *p, u64 since_us)
{
    u64 low_us = lfp_scale(1000000, p->delta_low), f_q16 = LFP_ONE;
    if (since_us > low_us) {
        u64 over_us = since_us - low_us;
        over_us = over_us > 1000000000 ? 1000000000 : over_us; /* 1000 s: the square stays within 64 bits */
        u64 over_q10 = LFP_DIV(over_us << 10, 1000000);
        f_q16 += (10 * over_q10 << 6) + (over_q10 * over_q10 >> 6); /* (d/2)^2 = d^2/4: Q20 to Q16 and two bits more */
    }
    u64 alpha_q16 = 2 * (LFP_ONE - s->beta_q16) * f_q16 >> 16;
    return alpha_q16 > LFP_ONE ? alpha_q16 : LFP_ONE;
}

/* Handles a sample of the round-trip time and the number of acknowledged segments: updates the extremes and the rate of
 * whole round trips. */
LFP_INLINE void lfp_htcp_rtt(struct lfp_htcp *s, const struct lfp_window *w, u32 rtt_us, u32 acked)
{
    if (!s->min_rtt_us || rtt_us < s->min_rtt_us)
        s->min_rtt_us = rtt_us;
    if (rtt_us > s->max_rtt_us)
        s->max_rtt_us = rtt_us;
    s->round_acked += acked;
    u64 elapsed_us = w->now_us - s->round_us;
    if (elapsed_us < rtt_us || !elapsed_us)
        return;
    s->rate = lfp_max(s->rate, (u32)LFP_DIV((u64)s->round_acked * 1000000, elapsed_us));
    s->round_acked = 0;
    s->round_us = w->now_us;
}

/* The beta of a loss that happens now. */
LFP_INLINE u32 lfp_htcp_beta_q16(const struct lfp_htcp *s, const struct lfp_htcp_params *p)
{
    u32 change = s->rate > s->old_rate ? s->rate - s->old_rate : s->old_rate - s->rate;
    if (!s->max_rtt_us || change > lfp_scale(s->old_rate, p->change))
        return p->beta_min;
    u32 ratio_q16 = (u32)LFP_DIV((u64)s->min_rtt_us << 16, s->max_rtt_us);
    return lfp_min(lfp_max(ratio_q16, p->beta_min), p->beta_max);
}

LFP_INLINE u32 lfp_htcp_lost(struct lfp_htcp *s, const struct lfp_htcp_params *p, const struct lfp_window *w)
{
    s->beta_q16 = lfp_htcp_beta_q16(s, p);
    s->old_rate = s->rate;
    s->rate = 0;
    s->max_rtt_us = s->min_rtt_us; /* the next epoch measures its own queue */
    s->loss_us = w->now_us;
    return lfp_keep(w->cwnd, s->beta_q16);
}

LFP_INLINE void lfp_htcp_acked(struct lfp_htcp *s, const struct lfp_htcp_params *p, struct lfp_window *w, u32 acked)
{
    acked = lfp_slow_start(w, acked);
    if (acked)
        lfp_grow(w, &s->fraction_q32, acked, lfp_htcp_alpha_q16(s, p, w->now_us - s->loss_us));
}

#endif
