/* lfp_htcp as BPF; algo/lfp_htcp.h says what it does. */
#include "world.h"

#include "../algo/lfp_htcp.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(htcp, LFP_HTCP_PARAMS)
LFP_CALLBACKS(htcp, lfp_htcp_start(s, p, w))
LFP_CALLBACK_RTT(htcp, lfp_htcp_rtt(s, w, rtt_us, acked))

SEC(".struct_ops")
struct tcp_congestion_ops lfp_htcp = {
    .init = (void *)htcp_init,
    .ssthresh = (void *)htcp_ssthresh,
    .cong_avoid = (void *)htcp_cong_avoid,
    .undo_cwnd = (void *)htcp_undo,
    .pkts_acked = (void *)htcp_rtt,
    .name = "lfp_htcp",
};
