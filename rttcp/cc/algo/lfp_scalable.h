/* Scalable TCP. Source: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR 33(2),
 * 2003.
 *
 *   ACK:   cwnd += max(a, 1/cwnd) per acknowledged segment,  a = 0.01
 *   loss:  cwnd -= b cwnd,  b = 1/8
 *
 * Below 1/a segments this is the standard increase, as in the kernel's own module. Above it, the time to recover from a
 * loss is log(1/(1-b)) / a round trips for any window. */
#ifndef LFP_SCALABLE_H
#define LFP_SCALABLE_H

#include "lfp_cc.h"

#define LFP_SCALABLE_PARAMS(P)                                                                                         \
    P(a, 0.01, 0, 1, "segments added for each acknowledged one")                                                       \
    P(b, 0.125, 0.01, 0.9, "share of the window given up on loss")

struct lfp_scalable_params {
    LFP_SCALABLE_PARAMS(LFP_PARAM_FIELD)
};

struct lfp_scalable {
    u32 fraction_q32;
};

LFP_INLINE void lfp_scalable_start(struct lfp_scalable *s)
{
    s->fraction_q32 = 0;
}

LFP_INLINE u32 lfp_scalable_lost(struct lfp_scalable *s, const struct lfp_scalable_params *p,
                                 const struct lfp_window *w)
{
    (void)s;
    return lfp_max(w->cwnd - (u32)lfp_scale(w->cwnd, p->b), 2);
}

LFP_INLINE void lfp_scalable_acked(struct lfp_scalable *s, const struct lfp_scalable_params *p, struct lfp_window *w,
                                   u32 acked)
{
    acked = lfp_slow_start(w, acked);
    if (!acked)
        return;
    u64 per_rtt_q16 = (u64)w->cwnd * p->a;
    lfp_grow(w, &s->fraction_q32, acked, per_rtt_q16 > LFP_ONE ? per_rtt_q16 : LFP_ONE);
}

#endif
