/* The verdict on a transfer, for a person who is to do something about it: its main cause, the evidence, what to change
 * by name and value, and the rate that is possible then. The cause is one of the table of limits (causes/names.c); what
 * recoveries and the window behind them took is one cause, the losses. */
#ifndef PL_TRANSFER_VERDICT_H
#define PL_TRANSFER_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "transfer.h"

enum { PL_VERDICT_TEXT = 800 };

struct pl_verdict {
    bool known;
    enum pl_limit_cause cause;
    double share;    /* of the time, 0 to 1; -1: not measured, but inferred from rate, window and round trip */
    double rate_bps; /* goodput */
    double then_bps; /* the rate that is possible when the cause is taken away, as far as is known; 0: not known */
    bool losses;     /* the cause is what followed losses: recoveries, time-outs, and the reduced window */
    char text[PL_VERDICT_TEXT];
};

struct pl_verdict pl_verdict_of(const struct pl_transfer *transfer);

#endif
