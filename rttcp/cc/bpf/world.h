/* The definitions that the algorithms and tcp_glue.h require from their includer, for BPF. Each program file includes
 * this header, its algorithm and the glue, and then declares LFP_PARAMETERS, its callbacks and its operations. */
#ifndef WORLD_H
#define WORLD_H

#include "kernel_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define LFP_INLINE static inline __attribute__((always_inline, unused))
#define LFP_DIV(a, b) ((u64)(a) / (u64)(b))

#define LFP_CALLBACK(type, name, ...) SEC("struct_ops/" #name) type BPF_PROG(name, __VA_ARGS__)
#define LFP_STATE(type, sk) ((struct type *)((struct tcp_sock *)(sk))->inet_conn.icsk_ca_priv)
#define LFP_EVENT u32
#define LFP_TCP(sk) ((struct tcp_sock *)(sk))
#define LFP_IS_CWND_LIMITED(tp) BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited)

/* Parameters are constants to the program. They are in a separate section, which the loader fills in first. */
#define LFP_PARAMETERS(name, PARAMS)                                                                                   \
    SEC(".rodata." #name) const volatile struct lfp_##name##_params name##_set = {PARAMS(LFP_PARAM_DEFAULT)};          \
    LFP_INLINE struct lfp_##name##_params name##_params(void)                                                          \
    {                                                                                                                  \
        return name##_set;                                                                                             \
    }

#endif
