#include "pacer.h"

#include <assert.h>

#include "nc_clock.h"

void pacer_free(struct pacer *pacer)
{
    fifo_free(&pacer->buffer);
    *pacer = (struct pacer){0};
}

uint64_t pacer_waiting(struct pacer *pacer, uint64_t now_ns)
{
    return fifo_held(&pacer->buffer, now_ns);
}

/* Packets per second and bits per second have different fractions even at equal rates. */
static void change_unit(struct pacer *p, int unit)
{
    p->spacing.next_ns += p->spacing.fraction > 0;
    p->spacing.fraction = 0;
    p->unit = unit;
}

bool pacer_send(struct pacer *p, const struct pacer_params *params, uint64_t arrival_ns, uint32_t bytes,
                uint64_t *departure_ns)
{
    assert(bytes < 1u << 30);
    fifo_held(&p->buffer, arrival_ns);
    if (p->unit != params->unit)
        change_unit(p, params->unit);
    uint64_t departure = spacing_departure(&p->spacing, arrival_ns);
    if (!params->rate && fifo_is_empty(&p->buffer)) /* no rate, and no packet before it */
        departure = arrival_ns;
    if (departure > arrival_ns && !fifo_hold(&p->buffer, params->buffer_bytes, departure, bytes))
        return false;
    if (params->rate)
        spacing_take(&p->spacing, arrival_ns,
                     params->unit == PACER_PACKETS ? NC_NS_PER_S : (uint64_t)bytes * 8 * NC_NS_PER_S, params->rate);
    *departure_ns = departure;
    return true;
}
