/* The algorithms of active queue management by themselves, called in two common ways. The test states the queue that a
 * packet finds, and need not fill one. */
#ifndef TEST_AQM_H
#define TEST_AQM_H

#include "aqm_text.h"
#include "laws.h"

/* Starts as all zero. */
struct aqm {
    uint32_t largest_bytes;
    struct red_state red;
    struct codel_state codel;
    struct pie_state pie;
};

/* For a packet of `packet_bytes` that arrives at a queue. The queue holds `backlog_bytes` without it. */
static inline enum aqm_verdict aqm_enqueue(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns,
                                           uint64_t backlog_bytes, uint32_t packet_bytes, bool ect, uint64_t key,
                                           uint64_t number)
{
    if (packet_bytes > aqm->largest_bytes)
        aqm->largest_bytes = packet_bytes;
    const struct aqm_packet packet = {.now_ns = now_ns,
                                      .backlog_bytes = backlog_bytes,
                                      .bytes = packet_bytes,
                                      .largest_bytes = aqm->largest_bytes,
                                      .ect = ect,
                                      .key = key,
                                      .number = number};
    return params->algorithm == AQM_RED   ? red_comes(&aqm->red, params, &packet)
           : params->algorithm == AQM_PIE ? pie_comes(&aqm->pie, params, &packet)
                                          : AQM_PASS;
}

/* For a packet that leaves the queue for the line after a wait of `sojourn_ns`. `backlog_bytes` remain behind it. */
static inline enum aqm_verdict aqm_dequeue(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns,
                                           uint64_t sojourn_ns, uint64_t backlog_bytes, uint32_t packet_bytes, bool ect,
                                           uint64_t key, uint64_t number)
{
    if (packet_bytes > aqm->largest_bytes)
        aqm->largest_bytes = packet_bytes;
    const struct aqm_packet packet = {.now_ns = now_ns,
                                      .sojourn_ns = sojourn_ns,
                                      .backlog_bytes = backlog_bytes,
                                      .bytes = packet_bytes,
                                      .largest_bytes = aqm->largest_bytes,
                                      .ect = ect,
                                      .key = key,
                                      .number = number};
    if (params->algorithm == AQM_CODEL)
        return codel_leaves(&aqm->codel, &params->codel, params->ecn, &packet);
    if (params->algorithm == AQM_RED)
        red_leaves(&aqm->red, params, &packet);
    if (params->algorithm == AQM_PIE)
        pie_leaves(&aqm->pie, &params->pie, &packet);
    return AQM_PASS;
}

#endif
