#include "drain.h"

#include <assert.h>

#include "nc_range.h"

void drain_free(struct drain *drain)
{
    fifo_free(&drain->buffer);
    *drain = (struct drain){0};
}

bool drain_send(struct drain *d, const struct drain_params *params, uint64_t arrival_ns, uint32_t bytes,
                uint64_t *departure_ns)
{
    assert(bytes < 1u << 30);
    if (!params->rate_bps) { /* packets from before the rate was set to 0 go first */
        *departure_ns = nc_max(arrival_ns, d->bus.exit_ns);
        return true;
    }
    fifo_held(&d->buffer, arrival_ns);
    struct serial_line bus = d->bus;
    uint64_t crossed_ns = serial_line_send(&bus, params->rate_bps, arrival_ns, bytes);
    if (!fifo_hold(&d->buffer, params->buffer_bytes, crossed_ns, bytes))
        return false;
    d->bus = bus;
    *departure_ns = crossed_ns;
    return true;
}
