#include "pacer.h"

#include <assert.h>
#include <stdlib.h>

#include "nc_clock.h"

enum { ENTRIES_FIRST = 1024 };

void pacer_free(struct pacer *pacer)
{
    free(pacer->entries);
    *pacer = (struct pacer){0};
}

uint64_t pacer_waiting(struct pacer *p, uint64_t now_ns)
{
    while (p->tail != p->head && p->entries[p->tail & (p->size - 1)].departure_ns <= now_ns)
        p->bytes -= p->entries[p->tail++ & (p->size - 1)].bytes;
    assert(p->tail != p->head || p->bytes == 0);
    return p->bytes;
}

/* Room for one more entry, doubling when there is none. */
static bool reserve(struct pacer *p)
{
    if (p->head - p->tail < p->size)
        return true;
    uint64_t size = p->size ? p->size * 2 : ENTRIES_FIRST;
    struct pacer_entry *entries = malloc(size * sizeof *entries);
    if (!entries)
        return false;
    for (uint64_t i = p->tail; i != p->head; i++)
        entries[i & (size - 1)] = p->entries[i & (p->size - 1)];
    free(p->entries);
    p->entries = entries;
    p->size = size;
    return true;
}

static bool wait_until(struct pacer *p, uint64_t limit_bytes, uint64_t departure_ns, uint32_t bytes)
{
    if ((limit_bytes && p->bytes + bytes > limit_bytes) || !reserve(p))
        return false;
    p->entries[p->head++ & (p->size - 1)] = (struct pacer_entry){departure_ns, bytes};
    p->bytes += bytes;
    if (p->bytes > p->peak_bytes)
        p->peak_bytes = p->bytes;
    return true;
}

/* Packets per second and bits per second have fractions of different sizes even at the same number. */
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
    pacer_waiting(p, arrival_ns);
    if (p->unit != params->unit)
        change_unit(p, params->unit);
    uint64_t departure = spacing_departure(&p->spacing, arrival_ns);
    if (!params->rate && p->tail == p->head) /* no rate, and no packet before it */
        departure = arrival_ns;
    if (departure > arrival_ns && !wait_until(p, params->buffer_bytes, departure, bytes))
        return false;
    if (params->rate)
        spacing_take(&p->spacing, arrival_ns,
                     params->unit == PACER_PACKETS ? NC_NS_PER_S : (uint64_t)bytes * 8 * NC_NS_PER_S, params->rate);
    *departure_ns = departure;
    return true;
}
