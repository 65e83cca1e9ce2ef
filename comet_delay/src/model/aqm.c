#include "aqm_algorithms.h"

#include <assert.h>

typedef enum aqm_verdict step(struct aqm *aqm, const struct aqm_params *params, const struct aqm_packet *packet);

static const struct {
    step *enqueue, *dequeue; /* NULL: always pass */
} algorithms[] = {
    [AQM_NONE] = {NULL, NULL},
    [AQM_RED] = {red_enqueue, red_dequeue},
    [AQM_CODEL] = {NULL, codel_dequeue},
    [AQM_PIE] = {pie_enqueue, pie_dequeue},
};
_Static_assert(sizeof algorithms / sizeof algorithms[0] == AQM_N, "a row for every algorithm");

static enum aqm_verdict run(step *what, struct aqm *aqm, const struct aqm_params *params,
                            const struct aqm_packet *packet)
{
    if (aqm->algorithm != params->algorithm)
        *aqm = (struct aqm){.algorithm = params->algorithm};
    if (packet->bytes > aqm->largest_bytes)
        aqm->largest_bytes = packet->bytes;
    return what ? what(aqm, params, packet) : AQM_PASS;
}

enum aqm_verdict aqm_enqueue(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns, uint64_t backlog_bytes,
                             uint32_t packet_bytes, bool ect, uint64_t key, uint64_t number)
{
    assert(params->algorithm >= 0 && params->algorithm < AQM_N);
    return run(algorithms[params->algorithm].enqueue, aqm, params,
               &(struct aqm_packet){now_ns, 0, backlog_bytes, packet_bytes, ect, key, number});
}

enum aqm_verdict aqm_dequeue(struct aqm *aqm, const struct aqm_params *params, uint64_t now_ns, uint64_t sojourn_ns,
                             uint64_t backlog_bytes, uint32_t packet_bytes, bool ect, uint64_t key, uint64_t number)
{
    assert(params->algorithm >= 0 && params->algorithm < AQM_N);
    return run(algorithms[params->algorithm].dequeue, aqm, params,
               &(struct aqm_packet){now_ns, sojourn_ns, backlog_bytes, packet_bytes, ect, key, number});
}
