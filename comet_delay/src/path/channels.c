#include "channels.h"

#include "nc_range.h"

void channels_init(struct channels *c, uint64_t aqm_key)
{
    *c = (struct channels){.used = 1};
    for (unsigned i = 0; i < CHANNELS_MAX; i++) {
        bottleneck_init(&c->each[i], aqm_key);
        rate_trace_init(&c->each[i].trace, 0);
    }
}

void channels_free(struct channels *c)
{
    for (unsigned i = 0; i < CHANNELS_MAX; i++)
        bottleneck_free(&c->each[i]);
}

void channels_restart_trace(struct channels *c, uint64_t now_ns)
{
    for (unsigned i = 0; i < CHANNELS_MAX; i++)
        rate_trace_restart(&c->each[i].trace, now_ns, c->each[i].line.exit_ns);
}

void channels_count_anew(struct channels *c)
{
    for (unsigned i = 0; i < CHANNELS_MAX; i++)
        c->each[i].sent = (struct line_count){0};
}

static struct bottleneck *channel_of(struct channels *c, const struct params *params, const struct wire_packet *packet)
{
    unsigned n = (unsigned)params->channels;
    if (n <= 1)
        return &c->each[0];
    if (c->used < n)
        c->used = n;
    return &c->each[(channels_by_flow(params) ? packet->flow : c->taken++) % n];
}

enum fate channels_offer(struct channels *c, const struct params *params, const struct models *models,
                         const struct wire_packet *packet)
{
    struct bottleneck *channel = channel_of(c, params, packet);
    enum fate fate = bottleneck_offer(channel, params, models, packet);
    uint64_t bytes = c->used == 1 ? queue_backlog_bytes(&channel->queue) : channels_occupancy(c, packet->time_ns);
    c->peak_bytes = nc_max(c->peak_bytes, bytes);
    return fate;
}

/* Whether the next packet of channel `i` leaves before that of channel `other`. Packets with equal exit times leave in
 * the order of arrival. */
static bool leaves_before(const struct channels *c, unsigned i, unsigned other)
{
    const struct wire_packet *a = &c->first[i], *b = &c->first[other];
    return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->number < b->number;
}

bool channels_next(struct channels *c, const struct params *params, const struct models *models, uint64_t until_ns,
                   struct wire_packet *packet, enum fate *fate)
{
    if (c->used == 1)
        return bottleneck_next(&c->each[0], params, models, until_ns, packet, fate);
    unsigned next = CHANNELS_MAX;
    for (unsigned i = 0; i < c->used; i++) {
        if (!c->waits[i] && bottleneck_next(&c->each[i], params, models, until_ns, packet, fate)) {
            if (*fate != FATE_PASS)
                return true;
            c->first[i] = *packet;
            c->waits[i] = true;
        }
        if (c->waits[i] && (next == CHANNELS_MAX || leaves_before(c, i, next)))
            next = i;
    }
    if (next == CHANNELS_MAX || c->first[next].time_ns > until_ns)
        return false;
    *packet = c->first[next];
    *fate = FATE_PASS;
    c->waits[next] = false;
    return true;
}

uint64_t channels_turn_ns(const struct channels *c)
{
    uint64_t turn_ns = UINT64_MAX;
    for (unsigned i = 0; i < c->used; i++)
        turn_ns = nc_min(turn_ns, c->waits[i] ? c->first[i].time_ns : bottleneck_turn_ns(&c->each[i]));
    return turn_ns;
}

uint64_t channels_occupancy(struct channels *c, uint64_t now_ns)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < c->used; i++)
        bytes += bottleneck_occupancy(&c->each[i], now_ns);
    return bytes;
}

uint64_t channels_exit_ns(const struct channels *c)
{
    uint64_t exit_ns = 0;
    for (unsigned i = 0; i < c->used; i++)
        exit_ns = nc_max(exit_ns, c->each[i].line.exit_ns);
    return exit_ns;
}

struct line_count channels_sent(const struct channels *c)
{
    struct line_count sent = {0};
    for (unsigned i = 0; i < c->used; i++) {
        sent.bytes += c->each[i].sent.bytes;
        sent.busy_ns += c->each[i].sent.busy_ns;
    }
    return sent;
}
