/* Measures by how much traffic on a wire exceeds the limit: in the fullest 100 ms, and in the worst interval of any
 * length. The latter equals the peak of a queue that is drained at the limit. */
#include <assert.h>
#include <stdlib.h>

#include "nc_clock.h"
#include "sim.h"

enum { WINDOW_MS = 100, SIZE = 1 << 17 };

struct sim_meter {
    uint64_t limit_bps, mtu, at_ns[SIZE], head, tail, sum, last_ns;
    uint32_t bytes[SIZE];
    double worst_packets, fill, worst_fill;
};

struct sim_meter *sim_meter_create(uint64_t limit_bps, uint64_t mtu)
{
    struct sim_meter *meter = calloc(1, sizeof *meter);
    assert(meter);
    meter->limit_bps = limit_bps;
    meter->mtu = mtu;
    return meter;
}

static double more(double a, double b)
{
    return a > b ? a : b;
}

void sim_meter_add(struct sim_meter *meter, uint32_t wire_bytes, uint64_t now_ns)
{
    if (!meter->limit_bps)
        return;
    while (meter->tail < meter->head &&
           (meter->at_ns[meter->tail % SIZE] + WINDOW_MS * NC_NS_PER_MS <= now_ns || meter->head - meter->tail == SIZE))
        meter->sum -= meter->bytes[meter->tail++ % SIZE];
    meter->at_ns[meter->head % SIZE] = now_ns;
    meter->bytes[meter->head++ % SIZE] = wire_bytes;
    meter->sum += wire_bytes;
    double cap = (double)meter->limit_bps / 8 / 10 * 1.01;
    meter->worst_packets = more(meter->worst_packets, ((double)meter->sum - cap) / (double)meter->mtu);
    meter->fill =
        more(meter->fill - (double)(now_ns - meter->last_ns) * (double)meter->limit_bps / 8e9, 0) + wire_bytes;
    meter->worst_fill = more(meter->worst_fill, meter->fill);
    meter->last_ns = now_ns;
}

void sim_meter_end(struct sim_meter *meter, struct sim_result *result)
{
    result->cap_excess_packets = meter->worst_packets;
    result->burst_peak_bytes = meter->worst_fill;
    free(meter);
}
