/* cpeak returns quickly to the last good window. Source: cpeak-1998, growth rule and tab1, tab2, fig2.
 *
 *   loss:  c_peak = cwnd;  cwnd = cwnd / 2
 *   RTT:   cwnd += A B C + D,  A = |cwnd - c_peak/2| / cwnd,  B = |c_peak - cwnd| / cwnd,  C = gain c_peak,  D =
 *          floor
 *
 * A is small just after the loss, and B is small near c_peak. So growth is slow at first, then fast, slow near c_peak,
 * and fast again beyond it. D is the standard increase of one segment per round trip, so growth never stops. Before the
 * first loss there is no peak, and only D remains. At and above c_peak/2 A and B are at most 1; below it, which happens
 * after an idle time, they are limited to 1. */
#ifndef LFP_CPEAK_H
#define LFP_CPEAK_H

#include "lfp_cc.h"

#define LFP_CPEAK_PARAMS(P)                                                                                            \
    P(gain, 0.5, 0, 4, "C as a multiple of c_peak")                                                                    \
    P(floor, 1, 0, 64, "D: segments a round trip that are always added")                                               \
    P(keep, 0.5, 0.1, 0.95, "share of the window kept on loss")

struct lfp_cpeak_params {
    LFP_CPEAK_PARAMS(LFP_PARAM_FIELD)
};

struct lfp_cpeak {
    u32 peak; /* window at the last loss, segments; 0: none yet */
    u32 fraction_q32;
};

LFP_INLINE void lfp_cpeak_start(struct lfp_cpeak *s)
{
    s->peak = 0;
    s->fraction_q32 = 0;
}

/* ABC + D at a window of window_q8 segments, in segments per round trip, Q16. The window has a fraction, because near
 * c_peak/2, where A is nearly 0, half a segment decides when the fast part begins. */
LFP_INLINE u64 lfp_cpeak_growth_q16(const struct lfp_cpeak *s, const struct lfp_cpeak_params *p, u64 window_q8)
{
    u64 w = window_q8 ? window_q8 : 1, peak = (u64)s->peak << 8;
    u64 a_q16 = LFP_DIV((2 * w > peak ? 2 * w - peak : peak - 2 * w) << 16, 2 * w);
    u64 b_q16 = LFP_DIV((peak > w ? peak - w : w - peak) << 16, w);
    a_q16 = a_q16 > LFP_ONE ? LFP_ONE : a_q16;
    b_q16 = b_q16 > LFP_ONE ? LFP_ONE : b_q16;
    u64 ab_q16 = a_q16 * b_q16 >> 16, c_q8 = (u64)s->peak * p->gain >> 8;
    return (ab_q16 * c_q8 >> 8) + p->floor;
}

LFP_INLINE u32 lfp_cpeak_lost(struct lfp_cpeak *s, const struct lfp_cpeak_params *p, const struct lfp_window *w)
{
    s->peak = w->cwnd;
    return lfp_keep(w->cwnd, p->keep);
}

LFP_INLINE void lfp_cpeak_acked(struct lfp_cpeak *s, const struct lfp_cpeak_params *p, struct lfp_window *w, u32 acked)
{
    acked = lfp_slow_start(w, acked);
    if (acked)
        lfp_grow(w, &s->fraction_q32, acked, lfp_cpeak_growth_q16(s, p, ((u64)w->cwnd << 8) + (s->fraction_q32 >> 24)));
}

#endif
