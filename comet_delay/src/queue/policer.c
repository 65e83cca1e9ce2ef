/* A token-bucket policer before a queue with one list: a packet for which the bucket has too few tokens exceeds the
 * rate. It is dropped or, with ECN and if it is ECN-capable, marked and accepted; in neither case it takes tokens. As
 * in RFC 2697 with one bucket, and in tc's police, the bucket is full at first, fills at the rate up to its depth, and
 * a packet takes its own bytes, as the framing counts them.
 * The state is the bucket's deficit (depth minus tokens) in units of 1e-9 bit, so that it starts as zero and nothing is
 * ever rounded. */
#include "plain.h"
#include "nc_clock.h"

typedef unsigned __int128 scaled; /* bits * 1e9: of 2^40 bytes below 2^73 */

struct policer {
    struct queued_list list;
    scaled lacks, depth;
    uint64_t last_ns, over_packets, over_bytes;
};

static scaled scale(uint64_t bytes)
{
    return (scaled)bytes * 8 * NC_NS_PER_S;
}

/* True for a packet within the rate, which takes its tokens. When the depth is reduced, the deficit is at most the new
 * depth. */
static bool conforms(struct policer *policer, const struct policer_params *params, const struct queued *packet)
{
    scaled depth = scale(params->burst_bytes), bytes = scale(packet->bytes);
    scaled filled =
        packet->arrival_ns > policer->last_ns ? (scaled)(packet->arrival_ns - policer->last_ns) * params->rate_bps : 0;
    policer->lacks = policer->lacks > filled ? policer->lacks - filled : 0;
    policer->lacks = policer->lacks > depth ? depth : policer->lacks;
    policer->depth = depth;
    policer->last_ns = packet->arrival_ns;
    if (policer->lacks + bytes > depth)
        return false;
    policer->lacks += bytes;
    return true;
}

static enum fate enqueue(struct queue *queue, const struct queue_settings *settings, struct queued *packet)
{
    struct policer *policer = queue->own;
    if (!conforms(policer, &settings->aqm->policer, packet)) {
        policer->over_packets++;
        policer->over_bytes += packet->bytes;
        if (!settings->aqm->ecn || !packet->ect)
            return FATE_POLICER;
        packet->marked = true;
    }
    return plain_add(queue, settings, packet);
}

static size_t state(const struct queue *queue, struct queue_fact *facts)
{
    const struct policer *policer = queue->own;
    scaled tokens = policer->depth - policer->lacks;
    facts[0] = (struct queue_fact){"tokens_bytes", (uint64_t)(tokens / (8 * NC_NS_PER_S))};
    facts[1] = (struct queue_fact){"over_packets", policer->over_packets};
    facts[2] = (struct queue_fact){"over_bytes", policer->over_bytes};
    return 3;
}

const struct discipline discipline_policer = {
    .own_bytes = sizeof(struct policer),
    .enqueue = enqueue,
    .dequeue = plain_dequeue,
    .next = plain_certain,
    .state = state,
    .start = plain_start,
    .leave = plain_leave,
};
