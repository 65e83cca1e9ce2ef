/* lfp_xys as BPF; algo/lfp_xys.h says what it does. */
#include "world.h"

#include "../algo/lfp_xys.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(xys, LFP_XYS_PARAMS)
LFP_CALLBACKS(xys, lfp_xys_start(s, p, w))
LFP_CALLBACK_XYS(xys_in_ack, xys_event)

SEC(".struct_ops")
struct tcp_congestion_ops lfp_xys = {
    .init = (void *)xys_init,
    .ssthresh = (void *)xys_ssthresh,
    .cong_avoid = (void *)xys_cong_avoid,
    .undo_cwnd = (void *)xys_undo,
    .in_ack_event = (void *)xys_in_ack,
    .cwnd_event = (void *)xys_event,
    .name = "lfp_xys",
};
