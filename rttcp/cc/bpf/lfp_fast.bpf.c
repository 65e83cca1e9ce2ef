/* lfp_fast as BPF; algo/lfp_fast.h says what it does. */
#include "world.h"

#include "../algo/lfp_fast.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(fast, LFP_FAST_PARAMS)
LFP_CALLBACKS(fast, lfp_fast_start(s))
LFP_CALLBACK_RTT(fast, lfp_fast_rtt(s, rtt_us))

SEC(".struct_ops")
struct tcp_congestion_ops lfp_fast = {
    .init = (void *)fast_init,
    .ssthresh = (void *)fast_ssthresh,
    .cong_avoid = (void *)fast_cong_avoid,
    .undo_cwnd = (void *)fast_undo,
    .pkts_acked = (void *)fast_rtt,
    .name = "lfp_fast",
};
