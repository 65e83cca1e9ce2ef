/* Whether a full queue took what was lost although longer queues were met: one of two in a row, of which the captures see
 * the sum.
 *
 * Let the bottleneck take a time for each octet, and w be the octets that waited for it when a part came, and the part:
 * delays show w. Another queue of r times the bottleneck's rate, r >= 1, is in front of it or, the other way round, the
 * bottleneck is behind it. What the sender sent says how many octets x waited in the front one and the part, for each r: x
 * falls by r times the bottleneck's rate, and rises by what is sent. When the part gets behind the front one, the
 * bottleneck has taken x / r of the w octets, and all that is left is behind, so that w - x / r wait there.
 *   in front   the front queue is full and drops: x is as large as it ever is
 *   behind     the one at the bottleneck does: w - x / r is. With an r beyond all bounds x / r is nothing, and w counts
 * So for each r what was lost is compared with the largest that passed, as a policer is (policer.h): a full queue has no
 * room for what is lost, and what passes as near to its end is rare. Queue management knows neither of these levels.
 * Nothing is said where time stamps are late, for then the levels are off by more than a part. */
#ifndef PL_IN_A_ROW_H
#define PL_IN_A_ROW_H

#include "loss_study.h"
#include "policer.h"

/* Marks as `explained` the parts of `parts` that such a queue would have taken. `share`: of the runs that are explained,
 * 0 where chance explains as many. */
struct pl_in_a_row {
    double share;
};

/* `service`: the bottleneck's time for an octet in ns; `base_ns`: the delay without queues. */
struct pl_in_a_row pl_in_a_row_find(struct pl_policer *parts, double service, double base_ns);

#endif
