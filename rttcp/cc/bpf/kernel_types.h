/* The few kernel types that the programs use. libbpf relocates every field by name against the running kernel's BTF
 * (preserve_access_index), so only names and types matter here, not offsets. Rejected: a generated vmlinux.h, which has
 * 3 MB and changes with the build machine's kernel. */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;

enum bpf_map_type { BPF_MAP_TYPE_UNUSED }; /* bpf_helper_defs.h names it */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sock {
    int unused;
};

struct inet_connection_sock {
    u64 icsk_ca_priv[13];
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    u32 snd_cwnd;
    u32 snd_ssthresh;
    u32 snd_cwnd_clamp;
    u32 prior_cwnd;
    u32 packets_out;
    u32 max_packets_out;
    u32 mss_cache;
    u32 snd_wnd;
    u32 srtt_us; /* times 8 */
    u64 tcp_mstamp;
    u8 is_cwnd_limited : 1;
};

struct ack_sample {
    u32 pkts_acked;
    s32 rtt_us;
    u32 in_flight;
};

struct tcp_congestion_ops {
    u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
#if LFP_HAS_TX_START
    void (*cwnd_event_tx_start)(struct sock *sk);
#else
    void (*cwnd_event)(struct sock *sk, u32 event);
#endif
    void (*in_ack_event)(struct sock *sk, u32 flags);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    char name[16];
};

#pragma clang attribute pop

/* enum tcp_ca_event, fixed since Linux 2.6.13 */
#define CA_EVENT_TX_START 0

#endif
