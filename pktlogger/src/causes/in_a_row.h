/* Detects a full queue as the cause of losses although other parts met longer delays: it is one of two queues in a row,
 * and captures show only the sum of both.
 *
 * Let w be the octets that wait for the bottleneck when a part comes, including the part. The delays show w. The second
 * queue is served at r times the bottleneck's rate, with r >= 1, and is in front of the bottleneck's. For each r, the
 * sending times give the octets x in the front queue, including the part: x falls by r times the bottleneck's rate and
 * rises by what is sent. When the part leaves the front queue, the bottleneck has served x / r of the w octets, so the
 * part finds w - x / r at the bottleneck.
 *   front is full    it drops parts when x is at its largest
 *   back is full     the bottleneck's queue drops parts when w - x / r is at its largest; for an infinite r this is w
 *
 * So for each r the levels of lost parts are compared with the largest level that passed, as for a policer (policer.h):
 * a full queue has no room for the lost parts, and few parts pass that near to its end. Queue management depends on
 * neither of these levels. Nothing is decided where time stamps are late, because the levels are then wrong by more
 * than a part. */
#ifndef PL_IN_A_ROW_H
#define PL_IN_A_ROW_H

#include "loss_study.h"
#include "policer.h"

/* Marks as `explained` the parts of `parts` that such a queue dropped. `share`: the share of runs that it explains; 0
 * where chance explains as many. */
struct pl_in_a_row {
    double share;
};

/* `service`: the bottleneck's time for an octet in ns; `base_ns`: the delay without queues. */
struct pl_in_a_row pl_in_a_row_find(struct pl_policer *parts, double service, double base_ns);

#endif
