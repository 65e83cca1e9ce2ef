/* Why each part was lost, as the two ends alone show it: from all losses of the transfer together (loss_study.h), and
 * from how long nothing arrived. Lost parts are kept until the next part arrives, at most PL_LOSS_RUN of them. The
 * rules are in FORMAT.md section 4, "Losses". */
#ifndef PL_LOSSES_H
#define PL_LOSSES_H

#include "loss_study.h"
#include "outages.h"
#include "transfer.h"

typedef void pl_loss_sink(void *context, const struct pl_loss *loss);

enum { PL_LOSS_RUN = 4096 };

struct pl_loss_causes {
    const struct pl_transfer *t; /* with the results of the second reading */
    const struct pl_loss_study *study;
    pl_loss_sink *sink;
    void *context;
    PL_VECTOR(struct pl_loss) run;  /* parts lost since the last arrival */
    struct pl_segment before;       /* the last part that arrived; len 0: none yet */
    size_t lost;                    /* number of elements of t->lost_runs that are used */
    const struct pl_lost_run *near; /* the study's run of a part lost since the last arrival; NULL: none */
    int64_t first_lost_ns, last_lost_ns;
    struct pl_time_span silent; /* while nothing passed: when the first and the last lost part were sent */
    size_t silent_n;            /* number of parts lost in `silent` */
    bool outage;                /* silent and silent_n fit an outage; judged over all connections between the hosts */
    bool both_ways;             /* its acknowledgements show an outage of a connection that is alone between its hosts
                                 * (both_ways.h) */
    struct pl_bursts bursts;    /* runs that neither a full queue nor queue management nor a policer explains */
    struct pl_time_spans *down; /* outages: each from the first lost part until the path is up or a packet arrives */
};

/* `study` has all parts of the transfer. Outages are added to `down`, as the sender noticed them. */
void pl_loss_causes_begin(struct pl_loss_causes *causes, const struct pl_transfer *t, const struct pl_loss_study *study,
                          struct pl_time_spans *down, pl_loss_sink *sink, void *context);
/* Takes the next part in order of sending. Returns 0, or -1 without memory. */
int pl_loss_causes_add(struct pl_loss_causes *causes, const struct pl_segment *segment);
int pl_loss_causes_end(struct pl_loss_causes *causes);

const char *pl_loss_name(enum pl_loss_cause cause);
const char *pl_loss_words(enum pl_loss_cause cause);

/* The causes of loss that depend on the path: bits 1 << cause. */
#define PL_PATH_CAUSES                                                                                                 \
    (1U << PL_LOSS_TAIL_DROP | 1U << PL_LOSS_AQM | 1U << PL_LOSS_BEFORE | 1U << PL_LOSS_BEHIND |                       \
     1U << PL_LOSS_OUTAGE | 1U << PL_LOSS_RECEIVER | 1U << PL_LOSS_POLICER)

/* The cause that the captures show. If it is not known and `ruled_out` leaves the path a single cause, that one. */
enum pl_loss_cause pl_loss_possible(enum pl_loss_cause seen, unsigned ruled_out);

#endif
