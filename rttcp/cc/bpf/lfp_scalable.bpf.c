/* lfp_scalable as BPF; algo/lfp_scalable.h says what it does. */
#include "world.h"

#include "../algo/lfp_scalable.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(scalable, LFP_SCALABLE_PARAMS)
LFP_CALLBACKS(scalable, lfp_scalable_start(s))

SEC(".struct_ops")
struct tcp_congestion_ops lfp_scalable = {
    .init = (void *)scalable_init,
    .ssthresh = (void *)scalable_ssthresh,
    .cong_avoid = (void *)scalable_cong_avoid,
    .undo_cwnd = (void *)scalable_undo,
    .name = "lfp_scalable",
};
