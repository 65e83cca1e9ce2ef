/* lfp_xys as BPF; algo/lfp_xys.h says what it does. It is compiled twice, without and with LFP_HAS_TX_START; the loader
 * takes the object that fits the kernel. */
#include "world.h"

#include "../algo/lfp_xys.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(xys, LFP_XYS_PARAMS)
LFP_CALLBACKS(xys, lfp_xys_start(s, p, w))
LFP_CALLBACK_XYS(xys_in_ack, xys_sending)

SEC(".struct_ops")
struct tcp_congestion_ops lfp_xys = {
    .init = (void *)xys_init,
    .ssthresh = (void *)xys_ssthresh,
    .cong_avoid = (void *)xys_cong_avoid,
    .undo_cwnd = (void *)xys_undo,
    .in_ack_event = (void *)xys_in_ack,
    .LFP_START_MEMBER = (void *)xys_sending,
    .name = "lfp_xys",
};
