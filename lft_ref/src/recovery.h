/* Recovery strategies as rows of functions: what the sender does with reports and timers, and what the receiver keeps. */
#ifndef LFT_RECOVERY_H
#define LFT_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

struct lft_engine;

struct lft_recovery_ops {
    bool receiver_keeps;  /* out-of-order frames; false: discards them, delivers in order of numbers */
    bool reads_bitmap;    /* of reports: frees what arrived, finds what did not */
    bool coded;           /* sends REPAIR frames; reordering margin is a coded window */
    /* The number to send again now, if any. */
    bool (*next)(struct lft_engine *engine, uint64_t *number);
    /* A transmission that must be lost: later ones arrived, this one's number is still outstanding. NULL: not used. */
    void (*lost)(struct lft_engine *engine, uint64_t number);
    /* Nothing was heard for a timeout while numbers were outstanding. */
    void (*timeout)(struct lft_engine *engine);
    /* When that is. */
    uint64_t (*timeout_at)(const struct lft_engine *engine);
};

extern const struct lft_recovery_ops lft_recovery_table[]; /* by enum lft_recovery */

#endif
