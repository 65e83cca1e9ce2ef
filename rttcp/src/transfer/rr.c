#include "rr.h"

#include <stdlib.h>

struct rttcp_rr *rttcp_rr_create(const struct rttcp_params *params, bool client)
{
    struct rttcp_rr *rr = calloc(1, sizeof *rr);
    if (!rr)
        return NULL;
    rr->client = client;
    rr->request_bytes = rr->left_bytes = params->request_bytes;
    rr->response_bytes = params->response_bytes;
    return rr;
}

void rttcp_rr_release(struct rttcp_rr *rr)
{
    if (rr)
        rttcp_latencies_release(&rr->latencies);
    free(rr);
}

void rttcp_rr_begin(struct rttcp_rr *rr, uint64_t now_ns, uint64_t omit_ns)
{
    rr->measured_ns = now_ns + omit_ns;
    rr->begun_ns = rr->last_ns = now_ns;
}

bool rttcp_rr_sends(const struct rttcp_rr *rr)
{
    return rr->client != rr->answering;
}

bool rttcp_rr_between(const struct rttcp_rr *rr)
{
    return !rr->answering && rr->left_bytes == rr->request_bytes;
}

static void complete(struct rttcp_rr *rr, uint64_t now_ns)
{
    rr->exchanges++;
    if (rr->client && rr->last_ns >= rr->measured_ns) {
        nc_spread_add(&rr->latency, now_ns - rr->last_ns);
        rttcp_latencies_add(&rr->latencies, rr->last_ns, now_ns - rr->last_ns);
    }
    rr->last_ns = now_ns;
}

bool rttcp_rr_moved(struct rttcp_rr *rr, uint64_t bytes, uint64_t now_ns)
{
    if (bytes > rr->left_bytes)
        return false;
    rr->left_bytes -= bytes;
    if (rr->left_bytes)
        return true;
    if (rr->answering)
        complete(rr, now_ns);
    rr->answering = !rr->answering;
    rr->left_bytes = rr->answering ? rr->response_bytes : rr->request_bytes;
    return true;
}
