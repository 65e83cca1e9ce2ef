/* The control that lfp-1995 proposed and never measured, with parameters x and y and the share s of time in which
 * sending stopped. Source: lfp-1995, "proposed control"; x = 2, y = 8 is the standard algorithm of that time.
 *
 *   loss:  ssthresh = max(min(cwnd / x, window), 2 MSS);  cwnd = MSS
 *   ACK:   cwnd += MSS                       below ssthresh
 *          cwnd += MSS MSS / cwnd + MSS / y   from there on
 *
 * An ACK here means one acknowledged segment, so that growth does not depend on how the receiver delays or joins ACKs.
 * After a time-out the kernel itself sets cwnd to one segment. After fast recovery, which the hosts of the paper did
 * not have, the window continues from ssthresh: the ACKs of the segments in flight would open it to ssthresh within a
 * round trip anyway.
 *
 * The adaptive rule (adaptive = 1) works once every `epoch` seconds:
 *   s >= high:  y is multiplied by 4, up to y_max; when y has reached it, x is doubled, up to x_max
 *   s <= low:   x and y return half of the way to their initial values
 *   otherwise:  x and y stay
 * y comes first, as the paper says, because growth alone may overflow the queue. While the receiver's window is at most
 * `small` KB nothing changes. adaptive = 2 is an earlier rule, another reading of the same sentence: y is doubled once
 * when s becomes high, and x is raised by one in every further epoch in which s stays high. docs/explanation/xys.md
 * describes both.
 *
 * s is a share of the elapsed time: the sum over all gaps between ACKs that exceed two round-trip times, each reduced
 * by one round trip, because ACKs arrive one round trip after their segments were sent. A gap in which there was
 * nothing to send does not count (lfp_xys_restarted). */
#ifndef LFP_XYS_H
#define LFP_XYS_H

#include "lfp_cc.h"

#define LFP_XYS_PARAMS(P)                                                                                              \
    P(x, 2, 1, 1024, "divisor of the window on loss")                                                                  \
    P(y, 8, 1, 60000, "divisor of the segment added for each ACK")                                                     \
    P(adaptive, 0, 0, 2, "1: x and y follow s; 2: by the rule tried first")                                            \
    P(high, 0.5, 0.05, 1, "s from which x and y are raised")                                                           \
    P(low, 0.1, 0, 1, "s up to which they go back")                                                                    \
    P(epoch, 2, 0.1, 600, "seconds over which s is taken")                                                             \
    P(x_max, 64, 1, 1024, "largest x of the adaptive rule")                                                            \
    P(y_max, 4096, 1, 60000, "largest y of the adaptive rule")                                                         \
    P(small, 64, 0, 60000, "KB of the receiver's window up to which x and y stay")

struct lfp_xys_params {
    LFP_XYS_PARAMS(LFP_PARAM_FIELD)
};

struct lfp_xys {
    u64 epoch_us, ack_us, stopped_us; /* start of the epoch; time of the last ACK; stopped time since the start of the
                                       * epoch */
    u32 x_q16, y_q16, s_q16;          /* s of the last complete epoch */
    u32 fraction_q32;
    u32 high_epochs; /* consecutive epochs with s >= high */
};

LFP_INLINE void lfp_xys_start(struct lfp_xys *s, const struct lfp_xys_params *p, const struct lfp_window *w)
{
    s->epoch_us = s->ack_us = w->now_us;
    s->stopped_us = 0;
    s->x_q16 = p->x;
    s->y_q16 = p->y;
    s->s_q16 = s->fraction_q32 = s->high_epochs = 0;
}

/* `factor` times the value, at most the limit, and never less than the value. */
LFP_INLINE u32 lfp_xys_times(u32 value_q16, u32 factor, u32 limit_q16)
{
    return lfp_max(value_q16, value_q16 > limit_q16 / factor ? limit_q16 : factor * value_q16);
}

LFP_INLINE void lfp_xys_raise(struct lfp_xys *s, const struct lfp_xys_params *p)
{
    if (p->adaptive > LFP_ONE) {
        if (s->high_epochs == 1)
            s->y_q16 = lfp_xys_times(s->y_q16, 2, p->y_max);
        else
            s->x_q16 = lfp_max(lfp_min(s->x_q16 + LFP_ONE, p->x_max), s->x_q16);
    } else if (s->y_q16 < p->y_max)
        s->y_q16 = lfp_xys_times(s->y_q16, 4, p->y_max);
    else
        s->x_q16 = lfp_xys_times(s->x_q16, 2, p->x_max);
}

/* Adapts x and y at the end of an epoch with s = s->s_q16. */
LFP_INLINE void lfp_xys_adapt(struct lfp_xys *s, const struct lfp_xys_params *p)
{
    s->high_epochs = s->s_q16 >= p->high ? s->high_epochs + 1 : 0;
    if (s->high_epochs) {
        lfp_xys_raise(s, p);
    } else if (s->s_q16 <= p->low) {
        s->x_q16 -= (s->x_q16 - p->x) / 2;
        s->y_q16 -= (s->y_q16 - p->y) / 2;
    }
}

/* Handles every ACK, in any state of recovery. Returns 1 when an epoch ended with it. */
LFP_INLINE u32 lfp_xys_ack(struct lfp_xys *s, const struct lfp_xys_params *p, const struct lfp_window *w)
{
    u64 gap_us = w->now_us - s->ack_us, rtt_us = w->rtt_us;
    s->ack_us = w->now_us;
    if (rtt_us && gap_us > 2 * rtt_us)
        s->stopped_us += gap_us - rtt_us;
    u64 elapsed_us = w->now_us - s->epoch_us;
    if (elapsed_us < lfp_scale(1000000, p->epoch) || !elapsed_us)
        return 0;
    s->s_q16 = (u32)LFP_DIV(s->stopped_us << 16, elapsed_us);
    s->stopped_us = 0;
    s->epoch_us = w->now_us;
    if (p->adaptive && w->peer_bytes > lfp_scale(1024, p->small))
        lfp_xys_adapt(s, p);
    return 1;
}

/* Sending resumes after a time with nothing to send; that gap is not a stop. */
LFP_INLINE void lfp_xys_restarted(struct lfp_xys *s, const struct lfp_window *w)
{
    s->ack_us = w->now_us;
}

LFP_INLINE u32 lfp_xys_lost(struct lfp_xys *s, const struct lfp_xys_params *p, const struct lfp_window *w)
{
    (void)p;
    s->fraction_q32 = 0;
    u32 window = w->peer_bytes / lfp_max(w->mss_bytes, 1);
    return lfp_max(lfp_min((u32)LFP_DIV((u64)w->cwnd << 16, s->x_q16), window), 2);
}

LFP_INLINE void lfp_xys_acked(struct lfp_xys *s, const struct lfp_xys_params *p, struct lfp_window *w, u32 acked)
{
    (void)p;
    acked = lfp_slow_start(w, acked);
    if (acked)
        lfp_raise(w, &s->fraction_q32,
                  acked * (LFP_DIV(1ull << 32, lfp_max(w->cwnd, 1)) + LFP_DIV(1ull << 48, s->y_q16)));
}

#endif
