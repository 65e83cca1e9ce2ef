/* Recovery strategies as rows of functions: the sender's reaction to reports and time-outs, and which frames the
 * receiver keeps. */
#ifndef LFT_RECOVERY_H
#define LFT_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

struct lft_engine;

struct lft_recovery_ops {
    /* true: the receiver keeps frames out of order. False: it discards them and delivers in order of numbers */
    bool receiver_keeps;
    bool reads_bitmap; /* the sender uses the bitmap of reports to free frames that have arrived and to find lost
                          * ones */
    bool coded;        /* the sender adds REPAIR frames; reordering of up to a coded window is not taken for loss */
    /* Sets *number to the frame to retransmit now. False: there is none. */
    bool (*next)(struct lft_engine *engine, uint64_t *number);
    /* Called when a transmission is considered lost while its number is still outstanding. NULL: not used. */
    void (*lost)(struct lft_engine *engine, uint64_t number);
    /* Called when numbers are outstanding and no acknowledgement with new information has arrived for one time-out. */
    void (*timeout)(struct lft_engine *engine);
    /* When `timeout` is due. */
    uint64_t (*timeout_at)(const struct lft_engine *engine);
};

/* a row per enum lft_recovery, whose names are in engine_types.h */
extern const struct lft_recovery_ops lft_recovery_table[];

#endif
