/* Derives from the two ends' accounts of a finished direction whether its octets arrived intact. This end's own account
 * is trusted. The peer's account is a claim, which must be complete and must agree. Both ends judge with this code, so
 * honest ends come to the same verdict, and neither end adopts a better verdict from its peer. */
#ifndef RTTCP_EVIDENCE_H
#define RTTCP_EVIDENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "results.h"

#define RTTCP_WRONG_TEXT 240

struct rttcp_evidence {
    const char *verified; /* "off", "ok", "mismatch", "unknown" (the accounts lack the values that would decide) */
    char wrong[RTTCP_WRONG_TEXT]; /* the fault or the missing part; "" when there is none */
};

/* The accounts of one direction; its streams have the numbers first … first + n - 1 in the proposal. */
struct rttcp_accounts {
    const struct rttcp_side *sender, *receiver;
    uint64_t first, n;
    bool verify;
    uint64_t request_bytes, response_bytes; /* 0: no exchanges */
};

struct rttcp_evidence rttcp_evidence_judge(const struct rttcp_accounts *accounts);

#endif
