/* Random Early Detection (Floyd, Jacobson 1993; names in brackets are the paper's). The average [avg] is in bytes. A
 * packet's probability p_b of being hit (marked or dropped) grows with its size and with the bytes since the last hit
 * [count], so that the gaps between hits are uniformly and not geometrically distributed. For packets of the usual size
 * the gaps are uniform over 1 … 1/p_b - 1, so the share of hits is 2 p_b. This is the paper's recurrence as printed. */
#include "plain.h"
#include "laws.h"
#include "nc_clock.h"

/* base ^ n, base in 0 … 1. */
static double power(double base, uint64_t n)
{
    double result = 1;
    for (; n && result > 0; n >>= 1, base *= base)
        if (n & 1)
            result *= base;
    return result;
}

static double share(uint64_t ppb)
{
    return (double)ppb / NC_RATIO_ONE;
}

/* Updates the average at an arrival. After an idle time it assumes that m packets of the usual size found the queue
 * empty, as many as could have been sent in that time [m]. */
static void average(struct red_state *red, const struct aqm_params *params, const struct aqm_packet *packet)
{
    double weight = share(params->red.weight_ppb);
    if (packet->backlog_bytes || !red->idle || packet->now_ns < red->idle_since_ns || !params->link_rate_bps) {
        red->average_bytes += weight * ((double)packet->backlog_bytes - red->average_bytes);
        return;
    }
    unsigned __int128 bits_ns = (unsigned __int128)(packet->now_ns - red->idle_since_ns) * params->link_rate_bps;
    unsigned __int128 packets = bits_ns / (params->red.packet_bytes * 8 * NC_NS_PER_S);
    red->average_bytes *= power(1 - weight, packets > UINT64_MAX ? UINT64_MAX : (uint64_t)packets);
    red->idle_since_ns = packet->now_ns;
}

/* The share of packets of the usual size to hit [p_b] at this average. 1: every packet. */
static double curve(const struct red_params *red, double average_bytes)
{
    double min = (double)red->min_bytes, max = (double)red->max_bytes, p = share(red->p_ppb);
    if (average_bytes < max)
        return p * (average_bytes - min) / (max - min);
    if (!red->gentle || average_bytes >= 2 * max)
        return 1;
    return p + (1 - p) * (average_bytes - max) / max;
}

enum aqm_verdict red_comes(struct red_state *red, const struct aqm_params *params, const struct aqm_packet *packet)
{
    average(red, params, packet);
    if (red->average_bytes < (double)params->red.min_bytes) {
        red->counting = false;
        return AQM_PASS;
    }
    double p = curve(&params->red, red->average_bytes);
    red->since_bytes = red->counting ? red->since_bytes + packet->bytes : 0;
    red->counting = true;
    if (p >= 1) {
        red->since_bytes = 0;
        return AQM_DROP; /* beyond the upper end a mark is not enough */
    }
    double usual = (double)params->red.packet_bytes, spread = 1 - (double)red->since_bytes / usual * p;
    p *= (double)packet->bytes / usual;
    if (spread > 0 && !aqm_chance(packet, p / spread))
        return AQM_PASS;
    red->since_bytes = 0;
    return aqm_signal(params->ecn, packet);
}

void red_leaves(struct red_state *red, const struct aqm_params *params, const struct aqm_packet *packet)
{
    red->idle = packet->backlog_bytes == 0;
    red->idle_since_ns = packet->now_ns; /* with a rate: when the packet's last bit will be out */
    if (params->link_rate_bps)
        red->idle_since_ns += (uint64_t)packet->bytes * 8 * NC_NS_PER_S / params->link_rate_bps;
}

struct red {
    struct queued_list list;
    struct red_state law;
};

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct red *red = queue->own;
    const struct aqm_packet coming = aqm_coming(queue, settings, packet);
    enum fate fate = aqm_fate(packet, red_comes(&red->law, settings->aqm, &coming));
    return fate == FATE_PASS ? plain_add(queue, settings, packet) : fate;
}

static struct queued *dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate)
{
    struct red *red = queue->own;
    struct queued *packet = plain_take(queue);
    *fate = FATE_PASS;
    if (!packet)
        return NULL;
    const struct aqm_packet leaving = aqm_leaving(queue, settings, packet, now_ns);
    red_leaves(&red->law, settings->aqm, &leaving);
    return packet;
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct red *red = queue->own;
    facts[0] = (struct queue_fact){"average_bytes", (uint64_t)red->law.average_bytes};
    return 1;
}

const struct discipline discipline_red = {
    .own_bytes = sizeof(struct red),
    .enqueue = enqueue,
    .dequeue = dequeue,
    .next = plain_next,
    .state = state,
    .start = plain_start,
    .leave = plain_leave,
};
