/* What aqm.c and the algorithms share. The arguments of aqm_enqueue and aqm_dequeue are in a struct, because most
 * algorithms look at a few of them only. */
#ifndef COMET_AQM_ALGORITHMS_H
#define COMET_AQM_ALGORITHMS_H

#include "aqm.h"
#include "random.h"

struct aqm_packet {
    uint64_t now_ns, sojourn_ns, backlog_bytes;
    uint32_t bytes;
    bool ect;
    uint64_t key, number;
};

enum aqm_verdict red_enqueue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet);
enum aqm_verdict red_dequeue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet);
enum aqm_verdict codel_dequeue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet);
enum aqm_verdict pie_enqueue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet);
enum aqm_verdict pie_dequeue(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet);

/* How the sender of this packet learns of congestion. */
static inline enum aqm_verdict aqm_signal(const struct aqm_params *params, const struct aqm_packet *packet)
{
    return params->ecn && packet->ect ? AQM_MARK : AQM_DROP;
}

/* True with probability p. */
static inline bool aqm_chance(const struct aqm_packet *packet, double p)
{
    return (double)(random_u64(packet->key, packet->number) >> 11) * 0x1p-53 < p;
}

#endif
