/* lfp_hstcp as BPF; algo/lfp_hstcp.h says what it does. */
#include "world.h"

#include "../algo/lfp_hstcp.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(hstcp, LFP_HSTCP_PARAMS)
LFP_CALLBACKS(hstcp, lfp_hstcp_start(s))

SEC(".struct_ops")
struct tcp_congestion_ops lfp_hstcp = {
    .init = (void *)hstcp_init,
    .ssthresh = (void *)hstcp_ssthresh,
    .cong_avoid = (void *)hstcp_cong_avoid,
    .undo_cwnd = (void *)hstcp_undo,
    .name = "lfp_hstcp",
};
