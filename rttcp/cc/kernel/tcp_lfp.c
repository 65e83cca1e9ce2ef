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
#include <net/tcp.h>

#define LFP_INLINE static inline __maybe_unused
#define LFP_DIV(a, b) div64_u64(a, b)
#define LFP_CALLBACK(type, name, ...) static type lfp_op_##name(__VA_ARGS__)
#define LFP_STATE(type, sk) ((struct type *)inet_csk_ca(sk))
#define LFP_TCP(sk) tcp_sk(sk)
#define LFP_IS_CWND_LIMITED(tp) ((tp)->is_cwnd_limited)

#include "algo/lfp_cpeak.h"
#include "algo/lfp_fast.h"
#include "algo/lfp_hstcp.h"
#include "algo/lfp_htcp.h"
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
LFP_CALLBACK_XYS(xys_in_ack, xys_event)

/* Answers getsockopt(TCP_CC_INFO) for lfp_xys with x, y and s of the last epoch, in 1/65536, as the first three words.
 * It reports nothing to sock_diag, whose attributes belong to other algorithms. BPF has no such callback. */
static size_t lfp_op_xys_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info)
{
    const struct lfp_xys *s = LFP_STATE(lfp_xys, sk);
    u32 words[] = {s->x_q16, s->y_q16, s->s_q16};
    if (extensions != ~0u)
        return 0;
    *attribute = INET_DIAG_NONE;
    memcpy(info, words, sizeof words);
    return sizeof words;
}

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
    LFP_OPS(scalable),
    LFP_OPS(xys, .in_ack_event = lfp_op_xys_in_ack, .cwnd_event = lfp_op_xys_event,
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
