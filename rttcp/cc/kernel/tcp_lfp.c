// SPDX-License-Identifier: GPL-2.0-only
/* The congestion controls of rttcp/cc built into a kernel, with the same algorithm headers and the same glue as the BPF
 * programs. It is for kernels without BPF, mainly user-mode Linux.
 *
 * To build it in, copy this file, tcp_glue.h and algo/ into net/ipv4 as tcp_lfp.c, tcp_glue.h and algo/, and append
 * `obj-y += tcp_lfp.o` to net/ipv4/Makefile. It has no Kconfig entry, because a user who copies it wants it built in.
 * It was written for Linux 6.1.
 *
 * Parameters are in 1/65536: `tcp_lfp.xys_x=262144` on the kernel's command line, or files in
 * /sys/module/tcp_lfp/parameters/. A connection reads them with every ACK. */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/version.h>
#include <net/tcp.h>

#define LFP_INLINE static inline __maybe_unused
#define LFP_DIV(a, b) div64_u64(a, b)
#define LFP_CALLBACK(type, name, ...) static type lfp_op_##name(__VA_ARGS__)
#define LFP_STATE(type, sk) ((struct type *)inet_csk_ca(sk))
#define LFP_TCP(sk) tcp_sk(sk)
#define LFP_IS_CWND_LIMITED(tp) ((tp)->is_cwnd_limited)
#define LFP_HAS_TX_START (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0))

#include "algo/lfp_cpeak.h"
#include "algo/lfp_fast.h"
#include "algo/lfp_hstcp.h"
#include "algo/lfp_htcp.h"
#include "algo/lfp_prague.h"
#include "algo/lfp_scalable.h"
#include "algo/lfp_xys.h"
#include "tcp_glue.h"

#define LFP_PARAMETERS(name, PARAMS)                                                                                   \
    static struct lfp_##name##_params name##_set __read_mostly = {PARAMS(LFP_PARAM_DEFAULT)};                          \
    LFP_INLINE struct lfp_##name##_params name##_params(void)                                                          \
    {                                                                                                                  \
        return name##_set;                                                                                             \
    }

/* Declares a module parameter for each parameter of an algorithm, with the algorithm's name as prefix. */
#define LFP_MODULE_PARAM(owner, field) module_param_named(owner##_##field, owner##_set.field, uint, 0644)
#define CPEAK_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(cpeak, field);
#define FAST_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(fast, field);
#define HSTCP_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(hstcp, field);
#define HTCP_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(htcp, field);
#define PRAGUE_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(prague, field);
#define SCALABLE_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(scalable, field);
#define XYS_PARAM(field, value, least, most, help) LFP_MODULE_PARAM(xys, field);

LFP_PARAMETERS(cpeak, LFP_CPEAK_PARAMS)
LFP_CPEAK_PARAMS(CPEAK_PARAM)
LFP_CALLBACKS(cpeak, lfp_cpeak_start(s))

LFP_PARAMETERS(fast, LFP_FAST_PARAMS)
LFP_FAST_PARAMS(FAST_PARAM)
LFP_CALLBACKS(fast, lfp_fast_start(s))
LFP_CALLBACK_RTT(fast, lfp_fast_rtt(s, rtt_us))

LFP_PARAMETERS(hstcp, LFP_HSTCP_PARAMS)
LFP_HSTCP_PARAMS(HSTCP_PARAM)
LFP_CALLBACKS(hstcp, lfp_hstcp_start(s))

LFP_PARAMETERS(htcp, LFP_HTCP_PARAMS)
LFP_HTCP_PARAMS(HTCP_PARAM)
LFP_CALLBACKS(htcp, lfp_htcp_start(s, p, w))
LFP_CALLBACK_RTT(htcp, lfp_htcp_rtt(s, w, rtt_us, acked))

LFP_PARAMETERS(scalable, LFP_SCALABLE_PARAMS)
LFP_SCALABLE_PARAMS(SCALABLE_PARAM)
LFP_CALLBACKS(scalable, lfp_scalable_start(s))

LFP_PARAMETERS(xys, LFP_XYS_PARAMS)
LFP_XYS_PARAMS(XYS_PARAM)
LFP_CALLBACKS(xys, lfp_xys_start(s, p, w))
LFP_CALLBACK_XYS(xys_in_ack, xys_sending)

/* What these callbacks of lfp_xys and lfp_prague report goes to getsockopt(TCP_CC_INFO), not to sock_diag, whose
 * attributes belong to other algorithms. BPF has no such callback. */
static size_t lfp_info(const u32 *words, size_t bytes, u32 extensions, int *attribute, union tcp_cc_info *info)
{
    if (extensions != ~0u)
        return 0;
    *attribute = INET_DIAG_NONE;
    memcpy(info, words, bytes);
    return bytes;
}

/* Answers for lfp_xys with x, y and s of the last epoch, in 1/65536. */
static size_t lfp_op_xys_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info)
{
    const struct lfp_xys *s = LFP_STATE(lfp_xys, sk);
    u32 words[] = {s->x_q16, s->y_q16, s->s_q16};
    return lfp_info(words, sizeof words, extensions, attribute, info);
}

/* lfp_prague needs a kernel that has AccECN, and that sends ECT(1) for a control that asks for it (patches/7/ect-1.patch
 * of scenarios/virtual). It decides about the window alone (cong_control), because the kernel's own way stops growth
 * for a round trip after each mark. */
#ifdef TCP_CONG_ECT_1_NEGOTIATION
LFP_PARAMETERS(prague, LFP_PRAGUE_PARAMS)
LFP_PRAGUE_PARAMS(PRAGUE_PARAM)

static struct tcp_congestion_ops lfp_prague_without_ecn;

/* Without AccECN it goes on as Reno, under another name, and sends no ECT(1). */
static void lfp_op_prague_init(struct sock *sk)
{
    struct tcp_sock *tp = tcp_sk(sk);
    struct lfp_window w = lfp_window_of(tp);
    lfp_prague_start(LFP_STATE(lfp_prague, sk), &w, tp->delivered, tp->delivered_ce);
    cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
    sk_pacing_shift_update(sk, 12); /* bursts of 2^-12 s, the draft's 250 us */
    if (!tcp_ecn_mode_accecn(tp) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE)
        WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &lfp_prague_without_ecn);
}

/* The kernel asks at a loss and at marks. lfp_op_prague_state() and lfp_op_prague_event() handle a loss, and
 * lfp_op_prague_control() marks. */
static u32 lfp_op_prague_ssthresh(struct sock *sk)
{
    return tcp_sk(sk)->snd_ssthresh;
}

static void lfp_prague_loses(struct sock *sk)
{
    struct lfp_prague_params params = prague_params();
    struct lfp_prague *s = LFP_STATE(lfp_prague, sk);
    struct lfp_window w = lfp_window_of(tcp_sk(sk));
    w.cwnd = w.ssthresh = lfp_prague_lost(s, &params, &w);
    s->lost = 1;
    lfp_window_store(tcp_sk(sk), &w);
}

static void lfp_op_prague_state(struct sock *sk, u8 state)
{
    u8 before = inet_csk(sk)->icsk_ca_state;
    if (state == TCP_CA_Recovery && before != TCP_CA_Recovery)
        lfp_prague_loses(sk);
    else if (state == TCP_CA_Loss && before == TCP_CA_CWR && !LFP_STATE(lfp_prague, sk)->lost)
        tcp_sk(sk)->snd_ssthresh = lfp_keep(tcp_sk(sk)->snd_ssthresh, prague_params().keep); /* no event: see below */
}

/* A time-out in the round trip after a mark comes without this event. */
static void lfp_op_prague_event(struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_LOSS)
        lfp_prague_loses(sk);
}

static void lfp_op_prague_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *sample)
{
    struct lfp_prague_params params = prague_params();
    struct lfp_prague *s = LFP_STATE(lfp_prague, sk);
    struct tcp_sock *tp = tcp_sk(sk);
    struct lfp_window w = lfp_window_of(tp);
    bool repairs = inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery;
    lfp_prague_ack(s, &params, &w, tp->delivered, tp->delivered_ce, !repairs && lfp_window_is_used(tp),
                   inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery);
    u64 pace = lfp_prague_pace(&w, tcp_packets_in_flight(tp));
    if (repairs) /* the first retransmission does not wait until the window is free */
        w.cwnd = lfp_max(w.ssthresh, s->lost ? tcp_packets_in_flight(tp) + 1 : 0);
    s->lost = 0;
    lfp_window_store(tp, &w);
    if (pace)
        WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, pace, READ_ONCE(sk->sk_max_pacing_rate)));
}

static u32 lfp_op_prague_undo(struct sock *sk)
{
    return lfp_max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

static u32 lfp_op_prague_segments(struct sock *sk)
{
    return 1;
}

/* Answers with alpha in 1/65536. */
static size_t lfp_op_prague_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info)
{
    u32 words[] = {LFP_STATE(lfp_prague, sk)->alpha_q24 >> (LFP_ALPHA_BITS - 16)};
    return lfp_info(words, sizeof words, extensions, attribute, info);
}

#define LFP_PRAGUE_OPS(called, ...)                                                                                    \
    {.init = lfp_op_prague_init,                                                                                       \
     .ssthresh = lfp_op_prague_ssthresh,                                                                               \
     .cong_control = lfp_op_prague_control,                                                                            \
     .set_state = lfp_op_prague_state,                                                                                 \
     .cwnd_event = lfp_op_prague_event,                                                                                \
     .min_tso_segs = lfp_op_prague_segments,                                                                           \
     .undo_cwnd = lfp_op_prague_undo,                                                                                  \
     .name = called,                                                                                                   \
     .owner = THIS_MODULE,                                                                                             \
     __VA_ARGS__}
static struct tcp_congestion_ops lfp_prague_without_ecn = LFP_PRAGUE_OPS("lfp_prague-reno");
#endif

#define LFP_OPS(algorithm, ...)                                                                                        \
    {.init = lfp_op_##algorithm##_init,                                                                                \
     .ssthresh = lfp_op_##algorithm##_ssthresh,                                                                        \
     .cong_avoid = lfp_op_##algorithm##_cong_avoid,                                                                    \
     .undo_cwnd = lfp_op_##algorithm##_undo,                                                                           \
     .name = "lfp_" #algorithm,                                                                                        \
     .owner = THIS_MODULE,                                                                                             \
     __VA_ARGS__}

/* clang-format off */
static struct tcp_congestion_ops lfp_ops[] = {
    LFP_OPS(cpeak),
    LFP_OPS(fast, .pkts_acked = lfp_op_fast_rtt),
    LFP_OPS(hstcp),
    LFP_OPS(htcp, .pkts_acked = lfp_op_htcp_rtt),
#ifdef TCP_CONG_ECT_1_NEGOTIATION
    LFP_PRAGUE_OPS("lfp_prague", .get_info = lfp_op_prague_info,
                   .flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION |
                            TCP_CONG_NO_FALLBACK_RFC3168),
#endif
    LFP_OPS(scalable),
    LFP_OPS(xys, .in_ack_event = lfp_op_xys_in_ack, .LFP_START_MEMBER = lfp_op_xys_sending,
            .get_info = lfp_op_xys_info),
};
/* clang-format on */

static int __init lfp_register(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(lfp_ops); i++) {
        int error = tcp_register_congestion_control(&lfp_ops[i]);
        if (error) {
            while (i--)
                tcp_unregister_congestion_control(&lfp_ops[i]);
            return error;
        }
    }
    return 0;
}

static void __exit lfp_unregister(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(lfp_ops); i++)
        tcp_unregister_congestion_control(&lfp_ops[i]);
}

module_init(lfp_register);
module_exit(lfp_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Congestion controls of the long-fat-pipe testbed");
