/* Connects an algorithm to a kernel socket. BPF (bpf/world.h) and the built-in module (kernel/tcp_lfp.c) define
 * LFP_CALLBACK, LFP_STATE, LFP_TCP and LFP_IS_CWND_LIMITED and then include this file. Callbacks are macros with the
 * algorithm's name as argument, because C has no other way to write them once. */
#ifndef TCP_GLUE_H
#define TCP_GLUE_H

#include "algo/lfp_cc.h"

LFP_INLINE struct lfp_window lfp_window_of(struct tcp_sock *tp)
{
    return (struct lfp_window){.cwnd = tp->snd_cwnd,
                               .ssthresh = tp->snd_ssthresh,
                               .mss_bytes = tp->mss_cache,
                               .peer_bytes = tp->snd_wnd,
                               .rtt_us = tp->srtt_us >> 3,
                               .now_us = tp->tcp_mstamp};
}

LFP_INLINE void lfp_window_store(struct tcp_sock *tp, const struct lfp_window *w)
{
    tp->snd_cwnd = lfp_min(w->cwnd, tp->snd_cwnd_clamp);
    tp->snd_ssthresh = w->ssthresh;
}

/* True when the window may grow: it must be in use, by the rule of the kernel's tcp_is_cwnd_limited(). */
LFP_INLINE u32 lfp_window_is_used(struct tcp_sock *tp)
{
    if (LFP_IS_CWND_LIMITED(tp))
        return 1;
    return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The callbacks that every algorithm needs. `begin` initialises its state: an expression over s, p and w. */
#define LFP_CALLBACKS(name, begin)                                                                                     \
    LFP_CALLBACK(void, name##_init, struct sock *sk)                                                                   \
    {                                                                                                                  \
        struct lfp_##name *s = LFP_STATE(lfp_##name, sk);                                                              \
        struct lfp_##name##_params params = name##_params(), *p = &params;                                             \
        struct lfp_window now = lfp_window_of(LFP_TCP(sk)), *w = &now;                                                 \
        (void)p;                                                                                                       \
        (void)w;                                                                                                       \
        begin;                                                                                                         \
    }                                                                                                                  \
    LFP_CALLBACK(u32, name##_ssthresh, struct sock *sk)                                                                \
    {                                                                                                                  \
        struct lfp_##name##_params params = name##_params();                                                           \
        struct lfp_window w = lfp_window_of(LFP_TCP(sk));                                                              \
        return lfp_##name##_lost(LFP_STATE(lfp_##name, sk), &params, &w);                                              \
    }                                                                                                                  \
    LFP_CALLBACK(void, name##_cong_avoid, struct sock *sk, u32 ack, u32 acked)                                         \
    {                                                                                                                  \
        struct lfp_##name##_params params = name##_params();                                                           \
        struct lfp_window w = lfp_window_of(LFP_TCP(sk));                                                              \
        (void)ack;                                                                                                     \
        if (!lfp_window_is_used(LFP_TCP(sk)))                                                                          \
            return;                                                                                                    \
        lfp_##name##_acked(LFP_STATE(lfp_##name, sk), &params, &w, acked);                                             \
        lfp_window_store(LFP_TCP(sk), &w);                                                                             \
    }                                                                                                                  \
    LFP_CALLBACK(u32, name##_undo, struct sock *sk)                                                                    \
    {                                                                                                                  \
        return lfp_max(LFP_TCP(sk)->snd_cwnd, LFP_TCP(sk)->prior_cwnd);                                                \
    }

/* The callback of algorithms that use round-trip times. `sampled` is a statement over s, w, rtt_us and acked. */
#define LFP_CALLBACK_RTT(name, sampled)                                                                                \
    LFP_CALLBACK(void, name##_rtt, struct sock *sk, const struct ack_sample *sample)                                   \
    {                                                                                                                  \
        struct lfp_##name *s = LFP_STATE(lfp_##name, sk);                                                              \
        struct lfp_window now = lfp_window_of(LFP_TCP(sk)), *w = &now;                                                 \
        s32 measured_us = sample->rtt_us;                                                                              \
        u32 rtt_us = (u32)measured_us, acked = sample->pkts_acked;                                                     \
        (void)w;                                                                                                       \
        (void)acked;                                                                                                   \
        if (measured_us > 0) {                                                                                         \
            sampled;                                                                                                   \
        }                                                                                                              \
    }

/* The callbacks of lfp_xys only. Every ACK counts for s. A gap in which the connection was idle does not count: it ends
 * with a start of transmission while nothing is outstanding. The latter must be checked, because the kernel also
 * reports a retransmission after a time-out as a start. Linux reports a start by cwnd_event before 7.1, and by
 * cwnd_event_tx_start since: LFP_HAS_TX_START says which. The includer defines the type of the event. */
#ifndef LFP_EVENT
#define LFP_EVENT enum tcp_ca_event
#endif
#if LFP_HAS_TX_START
#define LFP_CALLBACK_START(name, started)                                                                              \
    LFP_CALLBACK(void, name, struct sock *sk)                                                                          \
    {                                                                                                                  \
        started                                                                                                        \
    }
#define LFP_START_MEMBER cwnd_event_tx_start
#else
#define LFP_CALLBACK_START(name, started)                                                                              \
    LFP_CALLBACK(void, name, struct sock *sk, LFP_EVENT event)                                                         \
    {                                                                                                                  \
        if (event == CA_EVENT_TX_START)                                                                                \
            started                                                                                                    \
    }
#define LFP_START_MEMBER cwnd_event
#endif
#define LFP_CALLBACK_XYS(on_ack, on_start)                                                                             \
    LFP_CALLBACK(void, on_ack, struct sock *sk, u32 flags)                                                             \
    {                                                                                                                  \
        struct lfp_xys_params params = xys_params();                                                                   \
        struct lfp_window w = lfp_window_of(LFP_TCP(sk));                                                              \
        (void)flags;                                                                                                   \
        lfp_xys_ack(LFP_STATE(lfp_xys, sk), &params, &w);                                                              \
    }                                                                                                                  \
    LFP_CALLBACK_START(on_start, {                                                                                     \
        struct lfp_window w = lfp_window_of(LFP_TCP(sk));                                                              \
        if (!LFP_TCP(sk)->packets_out)                                                                                 \
            lfp_xys_restarted(LFP_STATE(lfp_xys, sk), &w);                                                             \
    })

#endif
