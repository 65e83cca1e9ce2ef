/* Controlled Delay (RFC 8289, 5). The RFC's dequeue loops over several packets at one time; here each call is one
 * iteration of that loop, and `dropped` records what the loop still has to do after a drop. A packet is dropped only
 * when more than one packet's bytes remain in the queue, so the RFC's case of a queue emptied by a drop cannot happen.
 * The RFC does not specify marks: here a marked packet is delivered and the next signal is scheduled at once, as in
 * Linux. */
#include "plain.h"
#include "laws.h"
#include "nc_range.h"

/* interval / sqrt(count), rounded down exactly: the largest r with r² count <= interval². The interval is below 2^42
 * ns. */
static uint64_t control_law(uint64_t interval_ns, uint32_t count)
{
    unsigned __int128 square = (unsigned __int128)interval_ns * interval_ns;
    uint64_t root = 0;
    for (uint64_t bit = UINT64_C(1) << 42; bit; bit >>= 1)
        if ((unsigned __int128)(root | bit) * (root | bit) * count <= square)
            root |= bit;
    return root;
}

/* Whether the sojourn time has been above the target for an interval. */
static bool ok_to_drop(struct codel_state *codel, const struct codel_params *params, const struct aqm_packet *packet)
{
    if (packet->sojourn_ns < params->target_ns || packet->backlog_bytes <= packet->largest_bytes) {
        codel->first_above_ns = 0;
        return false;
    }
    if (codel->first_above_ns == 0) {
        codel->first_above_ns = packet->now_ns + params->interval_ns;
        return false;
    }
    return packet->now_ns >= codel->first_above_ns;
}

static void schedule_next(struct codel_state *codel, const struct codel_params *params)
{
    if (codel->count < UINT32_MAX)
        codel->count++;
    codel->drop_next_ns += control_law(params->interval_ns, codel->count);
}

/* Starts at the drop rate that controlled the queue in the last cycle, if that cycle was recent. */
static void start_dropping(struct codel_state *codel, const struct codel_params *params, uint64_t now_ns)
{
    uint32_t delta = codel->count - codel->last_count;
    bool recent = now_ns < codel->drop_next_ns + 16 * params->interval_ns;
    codel->dropping = true;
    codel->count = delta > 1 && recent ? delta : 1;
    codel->last_count = codel->count;
    codel->drop_next_ns = now_ns + control_law(params->interval_ns, codel->count);
}

enum aqm_verdict codel_leaves(struct codel_state *codel, const struct codel_params *params, bool ecn,
                              const struct aqm_packet *packet)
{
    bool ok = ok_to_drop(codel, params, packet), dropped = codel->dropped;
    codel->dropped = false;
    if (!ok) {
        codel->dropping = false;
        return AQM_PASS;
    }
    enum aqm_verdict verdict = aqm_signal(ecn, packet);
    if (!codel->dropping) {
        start_dropping(codel, params, packet->now_ns);
        return verdict;
    }
    if (dropped)
        schedule_next(codel, params);
    if (packet->now_ns < codel->drop_next_ns)
        return AQM_PASS;
    if (verdict == AQM_MARK)
        schedule_next(codel, params);
    else
        codel->dropped = true;
    return verdict;
}

struct codel {
    struct queued_list list;
    uint32_t largest_bytes;
    struct codel_state law;
};

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct codel *codel = queue->own;
    codel->largest_bytes = nc_max(codel->largest_bytes, packet->bytes);
    return plain_add(queue, settings, packet);
}

static struct queued *dequeue(struct queue *queue, const struct queue_settings *settings, uint64_t now_ns,
                              enum fate *fate)
{
    struct codel *codel = queue->own;
    struct queued *packet = plain_take(queue);
    if (!packet)
        return NULL;
    struct aqm_packet leaving = aqm_leaving(queue, settings, packet, now_ns);
    leaving.largest_bytes = codel->largest_bytes = nc_max(codel->largest_bytes, packet->bytes);
    *fate = aqm_fate(packet, codel_leaves(&codel->law, &settings->aqm->codel, settings->aqm->ecn, &leaving));
    return packet;
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct codel *codel = queue->own;
    facts[0] = (struct queue_fact){"dropping", codel->law.dropping};
    facts[1] = (struct queue_fact){"count", codel->law.count};
    return 2;
}

const struct discipline discipline_codel = {
    .own_bytes = sizeof(struct codel),
    .enqueue = enqueue,
    .dequeue = dequeue,
    .next = plain_next,
    .state = state,
    .start = plain_start,
    .leave = plain_leave,
};
