/* The common part of the congestion controls: the window that they change, and arithmetic with fractions of a segment.
 *
 * The algorithms are plain arithmetic over a small state, so that one header serves three purposes: a BPF program
 * (bpf/), a built-in kernel module (kernel/tcp_lfp.c) and a unit test in virtual time. The includer defines u32, u64,
 * LFP_DIV(a, b) (u64 by u64, b > 0) and LFP_INLINE. The headers use nothing else from the includer, no signed division
 * (BPF of clang 14 has none), and no floating point at run time.
 *
 * Windows are in segments. `_q16` and `_q32` are fixed-point numbers with 16 and 32 fraction bits. Rejected: the
 * kernel's snd_cwnd_cnt, which counts ACKs towards one whole segment and cannot say "1.01 segments a round trip". */
#ifndef LFP_CC_H
#define LFP_CC_H

#define LFP_ONE 65536u /* 1.0 in Q16 */
/* A decimal constant in Q16, rounded; folded by the compiler. */
#define LFP_Q16(value) ((u32)((value) * 65536.0 + 0.5))

/* A field of a parameter struct, for LFP_<NAME>_PARAMS(P): P(field, default, least, most, help). */
#define LFP_PARAM_FIELD(field, value, least, most, help) u32 field;
#define LFP_PARAM_DEFAULT(field, value, least, most, help) .field = LFP_Q16(value),

/* The current state of the connection. `cwnd` and `ssthresh` are written back. */
struct lfp_window {
    u32 cwnd, ssthresh; /* segments */
    u32 mss_bytes;
    u32 peer_bytes; /* the receiver's window */
    u32 rtt_us;     /* smoothed; 0 before the first sample */
    u64 now_us;     /* monotonic */
};

LFP_INLINE u32 lfp_min(u32 a, u32 b)
{
    return a < b ? a : b;
}

LFP_INLINE u32 lfp_max(u32 a, u32 b)
{
    return a > b ? a : b;
}

/* The product of a plain number and a Q16 number. */
LFP_INLINE u64 lfp_scale(u64 a, u32 b_q16)
{
    return (a * b_q16) >> 16;
}

/* Slow start: adds a segment for each acknowledged one, up to ssthresh. Returns the acknowledged segments that remain
 * for congestion avoidance. */
LFP_INLINE u32 lfp_slow_start(struct lfp_window *w, u32 acked)
{
    u32 used = w->ssthresh > w->cwnd ? lfp_min(acked, w->ssthresh - w->cwnd) : 0;
    w->cwnd += used;
    return acked - used;
}

/* Raises the window by amount_q32 segments; *fraction_q32 keeps the fraction of a segment. */
LFP_INLINE void lfp_raise(struct lfp_window *w, u32 *fraction_q32, u64 amount_q32)
{
    u64 sum = *fraction_q32 + amount_q32;
    w->cwnd += (u32)(sum >> 32);
    *fraction_q32 = (u32)sum;
}

/* Grows by per_rtt_q16 segments in a round trip: each of the `acked` segments adds per_rtt / cwnd. Each segment adds at
 * most one segment, as in slow start, which also keeps the product within 64 bits. */
LFP_INLINE void lfp_grow(struct lfp_window *w, u32 *fraction_q32, u32 acked, u64 per_rtt_q16)
{
    u64 cwnd = lfp_max(w->cwnd, 1), most_q16 = cwnd << 16;
    if (per_rtt_q16 > most_q16)
        per_rtt_q16 = most_q16;
    lfp_raise(w, fraction_q32, acked * LFP_DIV(per_rtt_q16 << 16, cwnd));
}

/* The window after a loss: the share share_q16 of the window before, but at least two segments (RFC 5681, 3.1). */
LFP_INLINE u32 lfp_keep(u32 cwnd, u32 share_q16)
{
    return lfp_max((u32)lfp_scale(cwnd, share_q16), 2);
}

#endif
