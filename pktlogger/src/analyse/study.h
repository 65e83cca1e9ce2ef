/* The results that all parts of a transfer give together: the bottleneck's rate, the delay without queues, and the
 * causes of losses. Transfers that share one queue are studied as one (aggregate.h), because each by itself shows only
 * a part of the traffic that fills the queue. The rules are in causes/. */
#ifndef PL_STUDY_H
#define PL_STUDY_H

#include "loss_study.h"
#include "passages.h"

struct pl_study {
    struct pl_together of;
    struct pl_loss_study losses;
};

/* Studies the transfers. Sets the base delays, service_ns, signs.policed_rate and the other results by the captures in
 * `of.whole`, and lost_runs in each transfer. Returns 0, or -1 without memory; pl_study_free is allowed after
 * either. */
int pl_study_run(struct pl_study *study, const struct pl_tables *tables);
void pl_study_free(struct pl_study *study);

#endif
