/* What the two ends' accounts of a finished direction show about its octets. One account is this end's own and is
 * trusted. The other one is the peer's claim, which must be complete and must agree. Both ends judge with this code, so
 * honest ends come to the same verdict, and neither end adopts a better verdict from its peer. */
#ifndef RTTCP_EVIDENCE_H
#define RTTCP_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "results.h"

#define RTTCP_WRONG_TEXT 240

struct rttcp_evidence {
    const char *verified;         /* "off", "ok", "mismatch", "unknown" (something that would show it is missing) */
    char wrong[RTTCP_WRONG_TEXT]; /* what is wrong or missing; "" when nothing is */
};

/* The accounts of one direction, whose streams are numbers first … first + n - 1 of the proposal. */
struct rttcp_accounts {
    const struct rttcp_side *sender, *receiver;
    uint64_t first, n;
    bool verify;
    uint64_t request_bytes, response_bytes; /* 0: no exchanges */
};

struct rttcp_evidence rttcp_evidence_judge(const struct rttcp_accounts *accounts);

#endif
