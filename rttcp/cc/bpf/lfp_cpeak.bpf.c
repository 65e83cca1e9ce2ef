/* lfp_cpeak as BPF; algo/lfp_cpeak.h says what it does. */
#include "world.h"

#include "../algo/lfp_cpeak.h"
#include "../tcp_glue.h"

char _license[] SEC("license") = "GPL";

LFP_PARAMETERS(cpeak, LFP_CPEAK_PARAMS)
LFP_CALLBACKS(cpeak, lfp_cpeak_start(s))

SEC(".struct_ops")
struct tcp_congestion_ops lfp_cpeak = {
    .init = (void *)cpeak_init,
    .ssthresh = (void *)cpeak_ssthresh,
    .cong_avoid = (void *)cpeak_cong_avoid,
    .undo_cwnd = (void *)cpeak_undo,
    .name = "lfp_cpeak",
};
