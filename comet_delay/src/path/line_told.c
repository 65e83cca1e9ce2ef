/* Implements line_told.h. */
#include "line_told.h"

#include "nc_range.h"

enum { LINK_HEADER = 14, ETHERNET_OVERHEAD = 24, TUN_HEADER = 4 };

/* A packet's overhead on the line: all bytes outside its IP packet. */
static uint32_t overhead_bytes(const struct params *params, const struct models *models)
{
    if (models->rate.kind == RATE_MM_LINK)
        return TUN_HEADER;
    switch ((enum framing)params->framing) {
    case FRAMING_ETHERNET:
        return LINK_HEADER + ETHERNET_OVERHEAD;
    case FRAMING_L2:
        return LINK_HEADER;
    case FRAMING_IP:
        break;
    }
    return 0;
}

static uint64_t slower(uint64_t bps, uint64_t stage_bps)
{
    return stage_bps ? nc_min(bps, stage_bps) : bps;
}

/* All stages but the bottleneck. */
static struct comet_record_line others(const struct params *p, const struct models *models)
{
    bool by_packets = p->pace_packets > 0;
    uint64_t bps = slower(COMET_RECORD_UNBOUNDED, p->access_rate_bps);
    bps = slower(bps, by_packets ? 0 : p->pace_bps);
    bps = slower(slower(bps, p->drain_rate_bps), p->harmonize_bps);
    return (struct comet_record_line){
        .rate_bps = bps,
        .packets_per_s = by_packets ? p->pace_packets : COMET_RECORD_UNBOUNDED,
        .overhead_bytes = overhead_bytes(p, models),
        .mean = models->rate.kind == RATE_MAHIMAHI || models->rate.kind == RATE_MM_LINK,
        .queues_behind = by_packets || p->pace_bps || p->drain_rate_bps || p->harmonize_bps || p->bunch_ns,
    };
}

static void tell(struct recorder *recorder, uint64_t t_ns, struct comet_record_line line, uint64_t bottleneck_bps,
                 uint64_t channels)
{
    line.rate_bps = nc_min(line.rate_bps, bottleneck_bps * (channels ? channels : 1));
    recorder_line(recorder, t_ns, &line);
}

void line_tell(struct recorder *recorder, const struct params *params, const struct models *models, uint64_t origin_ns,
               uint64_t now_ns)
{
    const struct comet_record_line line = others(params, models);
    const struct table *steps = models->rate.table;
    if (!models_limit_rate(models)) {
        recorder_line(recorder, now_ns, &line);
        return;
    }
    if (models->rate.kind != RATE_STEPS) {
        tell(recorder, now_ns, line, rate_trace_planning_bps(&models->rate), params->channels);
        return;
    }
    for (size_t i = 0; i + 1 < steps->n; i += 2) { /* a rate of 0 stops the line */
        bool over = i + 2 < steps->n && origin_ns + steps->at[i + 2] <= now_ns;
        if (!over)
            tell(recorder, nc_max(origin_ns + steps->at[i], now_ns), line, steps->at[i + 1], params->channels);
    }
}
