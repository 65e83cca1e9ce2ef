/* The verdict on a transfer, for a person who wants to speed it up: the main cause, the evidence, the setting to change
 * with its value, and the rate that this would make possible. The cause is a row of the table of limits or of the table
 * of verdicts (causes/names.c). A verdict is the reason behind a limit. */
#ifndef PL_TRANSFER_VERDICT_H
#define PL_TRANSFER_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "transfer.h"

enum { PL_VERDICT_TEXT = 800 };

struct pl_verdict {
    bool known;
    enum pl_limit_cause cause;
    double share;    /* share of the time, 0 to 1; -1: not measured, but inferred from rate, window and round trip */
    double rate_bps; /* goodput */
    double then_bps; /* the rate that would be possible without the cause, as far as is known; 0: not known */
    int finding;     /* enum pl_finding, the reason behind `cause`; -1: none is known */
    bool and_losses; /* the cause is cross traffic, and `share` includes the recoveries from losses at a full line */
    char text[PL_VERDICT_TEXT];
};

/* The name of the group to which the verdict adds a limit. If packets were lost, fast_recovery, timeout and
 * congestion_avoidance count as losses. A closed window counts as the receiver's window. */
const char *pl_verdict_counts_as(const struct pl_transfer *transfer, enum pl_limit_cause cause);

/* The verdict's name and words. */
const char *pl_verdict_name(const struct pl_verdict *verdict);
const char *pl_verdict_words(const struct pl_verdict *verdict);

struct pl_verdict pl_verdict_of(const struct pl_transfer *transfer);

#endif
